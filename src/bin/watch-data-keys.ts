import { renameSync, writeFileSync } from 'node:fs'
import { type Cancel, every } from '../clock.ts'
import type { Platform } from '../platform.ts'

const lookEveryMs = 1_000

/** Learns of data keys that `longshore secrets rotate` makes, and says in a file which one it seals with. */
export function watchDataKeys({ clock, secrets, home, log }: Platform): Cancel {
  let said = ''
  const look = async () => {
    try {
      const newest = await secrets.refresh()
      if (newest === said) return
      writeFileSync(`${home.dataKeyFile}.new`, newest, { mode: 0o600 })
      renameSync(`${home.dataKeyFile}.new`, home.dataKeyFile)
      said = newest
    } catch (error) {
      log.warn({ err: error }, 'the data keys cannot be read; a rotation waits for this')
    }
  }
  void look()
  return every(clock, lookEveryMs, look)
}
