import type { LoggedRequest, LogType } from '../contract/app-env-reads.ts'
import type { LogQuery } from '../domain/environments/log-query.ts'
import { responseMsOf } from '../domain/environments/request-line.ts'

/** A line to keep; `at` is the engine's timestamp at full precision, so that following can continue exactly there. */
export interface KeptLine {
  at: string
  stream: 'stdout' | 'stderr'
  type: LogType
  podName: string | null
  contentId: string | null
  message: string
  /** With type REQUEST. */
  request?: LoggedRequest | undefined
}

/** Whether a line is among those that the filter selects. */
export function matcher(filter: LogQuery): (line: KeptLine) => boolean {
  const search = filter.search?.toLowerCase()
  const podNames = filter.podNames && new Set(filter.podNames)
  const fromMs = filter.from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(filter.from)
  const toMs = filter.to === undefined ? Number.POSITIVE_INFINITY : Date.parse(filter.to)
  return (line) => {
    if (line.type !== filter.type) return false
    if (filter.stream !== undefined && line.stream !== filter.stream) return false
    if (filter.podName !== undefined && line.podName !== filter.podName) return false
    if (podNames && !podNames.has(line.podName ?? '')) return false
    if (filter.contentId !== undefined && line.contentId !== filter.contentId) return false
    if (search && !line.message.toLowerCase().includes(search)) return false
    if (line.request && !requestMatches(line.request, filter)) return false
    const atMs = Date.parse(line.at)
    return atMs >= fromMs && atMs <= toMs
  }
}

function requestMatches(
  request: LoggedRequest,
  { status, path: prefix, slowerThanMs, isTroubled }: LogQuery,
): boolean {
  if (isTroubled && request.refused === null && request.status !== null && request.status < 500) return false
  if (status !== undefined) {
    const known = String(request.status)
    if (status.endsWith('xx') ? known[0] !== status[0] : known !== status) return false
  }
  if (prefix !== undefined && !request.path.startsWith(prefix)) return false
  return slowerThanMs === undefined || responseMsOf(request) > slowerThanMs
}
