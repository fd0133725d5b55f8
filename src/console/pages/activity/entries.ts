import type { listAudit } from '../../../contract/audit.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import { dayOf, operationWords } from '../../components/words.ts'

export type Entry = OutputOf<typeof listAudit>['entries'][number]

export interface Filters {
  who?: string | undefined
  object?: string | undefined
  surface?: string | undefined
  operation?: string | undefined
  outcome?: string | undefined
}

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

export function filtered(entries: readonly Entry[], { who, surface, operation, outcome }: Filters): Entry[] {
  return entries.filter(
    (entry) =>
      (who === undefined || entry.principal.id === who) &&
      (surface === undefined || entry.surface === surface) &&
      (operation === undefined ||
        entry.operation.includes(operation.toLowerCase().trim().replaceAll(' ', '-'))) &&
      (outcome === undefined || entry.outcome === outcome),
  )
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

export const surfaceNames: Record<string, string> = {
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
