import type { Client } from '../client/client.ts'
import { getLogs, type LogLine } from '../contract/app-env-reads.ts'
import type { RawInputOf } from '../contract/operation.ts'
import { AppError } from '../errors.ts'

/** Lines may be stored a little out of order, so each reading goes back this far and drops what was shown. */
const overlapMs = 2_000
/** A program that writes faster than this many pages between two readings is shown with gaps. */
export const mostPages = 20

export interface LogFollower {
  /** Shows the lines that came since; resolves when they are shown. */
  show(): Promise<void>
}

export interface FollowedLog {
  client: Client
  /** Which lines; `size` is how many a page has. */
  query: RawInputOf<typeof getLogs>
  /** How many pages the first reading goes back; 1 when left out. */
  firstPages?: number
  signal: AbortSignal
  onLine(line: LogLine): void
}

/** Shows each line of a log once, in order, reading after reading. */
export function createLogFollower(followed: FollowedLog): LogFollower {
  const { client, query, firstPages = 1, signal, onLine } = followed
  const shown = new Map<string, number>()
  let newestMs = 0
  return {
    async show() {
      const from = newestMs === 0 ? {} : { from: new Date(newestMs - overlapMs).toISOString() }
      let lines: LogLine[]
      try {
        lines = await readAll(client, { ...query, ...from }, signal, newestMs === 0 ? firstPages : mostPages)
      } catch (error) {
        signal.throwIfAborted()
        // The log only explains; the status decides, and says when the platform is really gone.
        if (error instanceof AppError) return
        throw error
      }
      const seen = new Map<string, number>()
      for (const line of lines) {
        const key = `${line.timestamp} ${line.podName} ${line.stream} ${line.message}`
        const count = (seen.get(key) ?? 0) + 1
        seen.set(key, count)
        newestMs = Math.max(newestMs, Date.parse(line.timestamp))
        if (count <= (shown.get(key) ?? 0)) continue
        shown.set(key, count)
        onLine(line)
      }
    },
  }
}

/** Page after page towards older lines, at most so many; answered in order. */
async function readAll(
  client: Client,
  query: FollowedLog['query'],
  signal: AbortSignal,
  pages: number,
): Promise<LogLine[]> {
  let lines: LogLine[] = []
  let cursor: string | null = null
  for (let page = 0; page < pages; page += 1) {
    const older: { cursor?: string } = cursor === null ? {} : { cursor }
    const answer = await client.call(getLogs, { ...query, ...older }, { signal })
    lines = [...answer.logs, ...lines]
    cursor = answer.cursor
    if (cursor === null) break
  }
  return lines
}
