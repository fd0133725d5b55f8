import { readFileSync } from 'node:fs'

/**
 * Start time of a process in clock ticks since boot; empty without /proc, `dead` for a killed process that its parent
 * has not reaped yet.
 */
export function startedAt(pid: number): string {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the program is in parentheses and may contain anything.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' || fields[0] === 'X' ? 'dead' : (fields[19] ?? '')
  } catch {
    return ''
  }
}

/** Whether the process that started then still runs: a reused pid has another start time. Empty: unknown. */
export function isAlive({ pid, started }: { pid: number; started: string }): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false
  }
  const now = startedAt(pid)
  return now !== 'dead' && (now === '' || started === '' || now === started)
}
