import type { Client } from '../../client/client.ts'
import { getLogs, type LogLine } from '../../contract/app-env-reads.ts'
import type { RawInputOf } from '../../contract/operation.ts'
import { AppError } from '../../errors.ts'

/** Lines may be stored slightly out of order, so each read overlaps the last one by this much and skips shown lines. */
const overlapMs = 2_000
/** Most pages per read; a program that writes more between two reads is shown with gaps. */
export const mostPages = 20

export interface LogFollower {
  /** Shows the new lines; resolves when they are shown. */
  show(): Promise<void>
}

interface FollowedLog {
  client: Client
  /** Which lines to read; `size` is the page size. */
  query: RawInputOf<typeof getLogs>
  /** How many pages the first read goes back; default 1. */
  firstPages?: number
  signal: AbortSignal
  onLine(line: LogLine): void
}

/** Shows each line of a log once, in order, across repeated reads. */
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
        // The log is optional; the status read reports an unavailable platform.
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

/** Reads up to `pages` pages towards older lines; returns the lines in order. */
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
