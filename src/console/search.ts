import { type AuditOutcome, auditOutcomes, type Surface, surfaces } from '../contract/audit.ts'

/** The search parameters that pages read from their address. All others are ignored. */
export const text = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value.slice(0, 500) : undefined

/** An address, or the parameters of one. */
export const longText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= 8_000 ? value : undefined

export const count = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined

/** Filters of a timeline, in its address so that a view can be shared. */
interface TimelineSearch {
  who?: string
  object?: string
  surface?: Surface
  agent?: string
  token?: string
  operation?: string
  outcome?: AuditOutcome
  approval?: string
}
export const timelineSearch = (search: Record<string, unknown>): TimelineSearch => ({
  who: text(search.who),
  object: text(search.object),
  surface: surfaces.find((one) => one === search.surface),
  agent: text(search.agent),
  token: text(search.token),
  operation: text(search.operation),
  outcome: auditOutcomes.find((one) => one === search.outcome),
  approval: text(search.approval),
})
