import { renameSync, writeFileSync } from 'node:fs'
import { Worker } from '../../worker.ts'
import type { Platform } from '../platform.ts'

const lookEveryMs = 1_000

/**
 * Reads data keys that `longshore secrets rotate` makes. Writes the id of the key that this process seals with to a file,
 * and passes it to `onNewest`.
 */
export function watchDataKeys(
  { clock, secrets, home, log }: Platform,
  onNewest: (keyId: string) => void,
): Worker {
  let written = ''
  const worker = new Worker({
    clock,
    everyMs: lookEveryMs,
    async pass() {
      const newest = await secrets.refresh()
      if (newest === written) return
      writeFileSync(`${home.dataKeyFile}.new`, newest, { mode: 0o600 })
      renameSync(`${home.dataKeyFile}.new`, home.dataKeyFile)
      written = newest
      onNewest(newest)
    },
    failed: (error) => log.warn({ err: error }, 'the data keys cannot be read; a rotation waits for this'),
  })
  worker.start()
  worker.wake()
  return worker
}
