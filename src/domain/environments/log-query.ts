import type { LogType } from '../../contract/app-env-reads.ts'

/** Selects kept lines of an environment, and their number. */
export interface LogQuery {
  type: LogType
  stream?: 'stdout' | 'stderr' | undefined
  podName?: string | undefined
  /** Only lines of these pods; none if empty. */
  podNames?: readonly string[] | undefined
  contentId?: string | undefined
  search?: string | undefined
  /** `status`, `path` and `slowerThanMs` select requests. */
  status?: string | undefined
  path?: string | undefined
  slowerThanMs?: number | undefined
  /** Only requests that failed with 5xx, were refused by the gateway, or got no answer. */
  isTroubled?: boolean | undefined
  size: number
  from?: string | undefined
  to?: string | undefined
  cursor?: string | undefined
}
