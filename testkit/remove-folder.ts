import { rmSync } from 'node:fs'

/** Removes a folder in which processes ran: one that is ending may still write into it for a moment. */
export function removeFolder(dir: string): void {
  rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
}
