import { readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { isAlive } from './process-start.ts'

/** One line: pid, start time and `fileIdentity` of the lock that the process made. */
export function lockFile(dir: string): string {
  return path.join(dir, 'run', 'lock')
}

/** The process that holds a data directory: serving, starting or stopping. Null if there is none. */
export function lockHolder(dir: string): number | null {
  const lock = lockFile(dir)
  try {
    const [pid = '', started = '', identity] = readFileSync(lock, 'utf8').trim().split(' ')
    // The lock in a copied data directory names the process of the original, which does not hold this directory.
    if (identity !== undefined && identity !== fileIdentity(lock)) return null
    return isAlive({ pid: Number(pid), started }) ? Number(pid) : null
  } catch (error) {
    // Another error does not show that the lock is free, and `lockHome` removes a free one.
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    throw error
  }
}

/** Identifies a file whatever its name: the same for a hard link, different for a copy. */
export function fileIdentity(file: string): string {
  const { dev, ino } = statSync(file)
  return `${dev}:${ino}`
}
