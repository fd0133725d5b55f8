import type { listAudit } from '../../../contract/audit.ts'
import type { OutputOf, RawInputOf } from '../../../contract/operation.ts'
import { dayOf } from '../../components/words.ts'
import { operationWords } from '../../words/operations.ts'
import { sentenceCase } from '../../words/text.ts'

export type Entry = OutputOf<typeof listAudit>['entries'][number]

export interface Filters {
  who?: string | undefined
  object?: string | undefined
  surface?: Entry['surface'] | undefined
  operation?: string | undefined
  outcome?: Entry['outcome'] | undefined
  agent?: string | undefined
  token?: string | undefined
  session?: string | undefined
  approval?: string | undefined
}

type AuditQuery = Omit<RawInputOf<typeof listAudit>, 'accountId' | 'limit' | 'cursor'>

/** The filters that the platform applies, so that older entries are found too. */
export function queryOf({
  who,
  object,
  surface,
  outcome,
  agent,
  token,
  session,
  approval,
}: Filters): AuditQuery {
  return {
    principalId: who,
    objectId: object,
    surface,
    outcome,
    agent,
    tokenId: token,
    sessionId: session,
    approvalId: approval,
  }
}

/** The end of an id, enough to tell the few on one page apart. */
export const shortId = (id: string) => id.slice(-6)

/** Name of the principal of an entry. */
export function actor({ principal }: Entry): string {
  if (principal.kind === 'platform') return 'Longshore'
  return principal.name ?? principal.email ?? principal.id
}

/** "Claude Code for Ada Lindqvist", or only the person. */
export function callerWords(entry: Entry): string {
  return entry.agent === null ? actor(entry) : `${agentName(entry.agent)} for ${actor(entry)}`
}

/** A read is on record only when it showed secrets. */
const readsOfSecrets: Record<string, string> = {
  'get-app-env': 'Read secrets of the environment',
  'get-contact-point': 'Read secrets of the contact point',
}

export function entryWords({ operation, undid }: Pick<Entry, 'operation' | 'undid'>): string {
  if (undid) return `Undo: ${operationWords(undid.operation)}`
  return readsOfSecrets[operation] ?? operationWords(operation)
}

/** Names of agents that introduce themselves by an id. */
const agentNames: Record<string, string> = {
  'claude-code': 'Claude Code',
  'claude-ai': 'Claude',
  'codex-mcp-client': 'Codex',
  'cursor-vscode': 'Cursor',
}

export const agentName = (agent: string): string =>
  Object.hasOwn(agentNames, agent) ? agentNames[agent]! : agent

const objectTypes: Record<string, string> = {
  'app-env': 'Environment',
  membership: 'Member',
  'job-run': 'Run',
  'audit-entry': 'Entry of the activity',
}

/** "Alert Checkout fails"; without a recorded name, the end of its id. */
export function objectWords({ objectType, objectId, objectName }: Entry): string {
  const type = objectTypes[objectType] ?? sentenceCase(objectType)
  return objectId === '' || (objectName === null && objectType === 'account')
    ? type
    : `${type} ${objectName ?? shortId(objectId)}`
}

/** Entries whose operation contains the text; the platform has no such filter. */
export function withOperation(entries: readonly Entry[], operation: string | undefined): readonly Entry[] {
  if (operation === undefined) return entries
  const part = operation.toLowerCase().trim()
  const id = part.replaceAll(' ', '-')
  return entries.filter(
    (entry) => entry.operation.includes(id) || entryWords(entry).toLowerCase().includes(part),
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

/** The agents in the entries, for the filter. */
export function agents(entries: readonly Entry[]): string[][] {
  const known = new Set(entries.flatMap(({ agent }) => agent ?? []))
  return [...known].sort().map((agent) => [agent, agentName(agent)])
}

/** The tokens in the entries, for the filter: by name where the reader owns them. */
export function tokens(entries: readonly Entry[], nameOf: (id: string) => string | undefined): string[][] {
  const known = new Map<string, string>()
  for (const entry of entries) {
    const { tokenId } = entry
    if (tokenId) known.set(tokenId, `${nameOf(tokenId) ?? shortId(tokenId)}, of ${actor(entry)}`)
  }
  return [...known].sort(([, one], [, other]) => one.localeCompare(other))
}

export const surfaceNames: Record<Entry['surface'], string> = {
  console: 'Console',
  mcp: 'Agent (MCP)',
  cli: 'Command line',
  rest: 'REST API',
  link: 'Link',
  chat: 'Chat',
}

/** The objects of the entries, and every environment, for the filter. */
export function objects(
  entries: readonly Entry[],
  environments: ReadonlyMap<string, string>,
): { id: string; name: string }[] {
  const known = new Map<string, string>()
  for (const entry of [...entries].reverse()) known.set(entry.objectId, objectWords(entry))
  for (const [id, name] of environments) known.set(id, name)
  known.delete('')
  return [...known].map(([id, name]) => ({ id, name })).sort((a, b) => a.name.localeCompare(b.name))
}
