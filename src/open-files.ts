import { readFileSync } from 'node:fs'

/**
 * How many clients may be connected at once: half of the files that this process may open, so that strangers who connect
 * and send nothing leave enough for logs, the store, engines and containers. No limit where it is unknown.
 */
export function mostClients(limits = readLimits()): number {
  const most = /^Max open files\s+(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY
  return Math.floor(Number(most) / 2)
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}
