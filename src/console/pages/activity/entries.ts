import type { listAudit } from '../../../contract/audit.ts'
import type { OutputOf, RawInputOf } from '../../../contract/operation.ts'
import { dayOf, operationWords } from '../../components/words.ts'

export type Entry = OutputOf<typeof listAudit>['entries'][number]

export interface Filters {
  who?: string | undefined
  object?: string | undefined
  surface?: Entry['surface'] | undefined
  operation?: string | undefined
  outcome?: Entry['outcome'] | undefined
  token?: string | undefined
  session?: string | undefined
}

type AuditQuery = Omit<RawInputOf<typeof listAudit>, 'accountId' | 'limit' | 'cursor'>

/** The filters that the platform applies, so that older entries are found too. */
export function queryOf({ who, object, surface, outcome, token, session }: Filters): AuditQuery {
  return { principalId: who, objectId: object, surface, outcome, tokenId: token, sessionId: session }
}

/** The end of an id, enough to tell the few on one page apart. */
export const shortId = (id: string) => id.slice(-6)

/** Name of the principal of an entry. */
export function actor({ principal }: Entry): string {
  if (principal.kind === 'platform') return 'Longshore'
  return principal.name ?? principal.email ?? principal.id
}

/** A read is on record only when it showed secrets. */
const readsOfSecrets: Record<string, string> = {
  'get-app-env': 'Read secrets of the environment',
  'get-contact-point': 'Read secrets of the contact point',
}

export function entryWords({ operation }: Entry): string {
  return readsOfSecrets[operation] ?? operationWords(operation)
}

/** Entries whose operation contains the text; the platform has no such filter. */
export function withOperation(entries: readonly Entry[], operation: string | undefined): readonly Entry[] {
  if (operation === undefined) return entries
  const part = operation.toLowerCase().trim().replaceAll(' ', '-')
  return entries.filter((entry) => entry.operation.includes(part))
}

/** Entries grouped by day in the reader's time zone, in the given order. */
export function byDay(entries: readonly Entry[]): { day: string; entries: Entry[] }[] {
  const days: { day: string; entries: Entry[] }[] = []
  for (const entry of entries) {
    const day = dayOf(entry.timestamp)
    const last = days.at(-1)
    if (last?.day === day) last.entries.push(entry)
    else days.push({ day, entries: [entry] })
  }
  return days
}

/** The principals in the entries, for the filter. */
export function actors(entries: readonly Entry[]): { id: string; name: string }[] {
  const known = new Map(entries.map((entry) => [entry.principal.id, actor(entry)]))
  return [...known].map(([id, name]) => ({ id, name })).sort((a, b) => a.name.localeCompare(b.name))
}

export const surfaceNames: Record<Entry['surface'], string> = {
  console: 'Console',
  mcp: 'Agent (MCP)',
  cli: 'Command line',
  rest: 'REST API',
  link: 'Link for a secret',
}

/** What the entries are about, and every environment, for the filter. */
export function objects(
  entries: readonly Entry[],
  environments: ReadonlyMap<string, string>,
): { id: string; name: string }[] {
  const known = new Map<string, string>()
  for (const { objectId, objectType } of entries) known.set(objectId, `${objectType} ${objectId}`)
  for (const [id, name] of environments) known.set(id, name)
  known.delete('')
  return [...known].map(([id, name]) => ({ id, name })).sort((a, b) => a.name.localeCompare(b.name))
}
