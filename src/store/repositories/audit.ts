import { createHash } from 'node:crypto'
import { type Selectable, sql } from 'kysely'
import { z } from 'zod'
import type { AuditOutcome, ChatOrigin, ConfirmedBy, Surface } from '../../contract/audit.ts'
import type { Impact } from '../../contract/impact.ts'
import { newId } from '../../domain/ids.ts'
import type { DecisionRecord } from '../../domain/policy/call.ts'
import { Pacer } from '../../pacer.ts'
import type { Tables, Tx } from '../db.ts'
import { inChunks } from '../in-chunks.ts'
import { recordReader } from '../record.ts'
import type { SecretBox } from '../secrets/secret-box.ts'
import { type AuditHead, findHead, saveHead } from './audit-heads.ts'

const decisionRecord = recordReader<DecisionRecord>('audit_log', null, z.object({ kind: z.string() }))
const chatRecord = recordReader<ChatOrigin>('audit_log', null, z.object({ user: z.string() }))
const impactRecord = recordReader<Impact>('audit_log', null, z.object({ actions: z.array(z.string()) }))
const objectRecord = recordReader<StoredAuditEntry['before']>('audit_log', null, z.unknown())

interface AuditEntry {
  at: string
  /** Null for entries without an account, such as those about a user's own tokens. */
  accountId: string | null
  principal: string
  surface: Surface
  /** The token that made the call, or that opened the console session; null in entries of an older version. */
  tokenId: string | null
  /** The agent session that the caller named; null without one. */
  sessionId: string | null
  /** The trace of the call; null in entries of an older version. */
  traceId: string | null
  /** The address of the client, by the word of trusted proxies; null in entries of an older version. */
  clientAddress: string | null
  /** The agent: as it signed in with OAuth, else as it names itself; null for other callers and in older entries. */
  agent: string | null
  /** What answered the question before a destructive tool call; null without one and in older entries. */
  confirmedBy: ConfirmedBy | null
  /** The chat user of a call from a chat; null for other surfaces. */
  chat: ChatOrigin | null
  /** For an undo: the entry that it undid. */
  undid: string | null
  /** The approval that the call ran by. */
  approvalId: string | null
  /** The run of a remediation that the call belongs to. */
  remediationRunId: string | null
  operation: string
  objectType: string
  objectId: string
  outcome: AuditOutcome
  /** Null for refused calls, changes that follow from another one, and entries of an older version. */
  impact: Impact | null
  /** Who wrote, and what policies decided or would have; absent where there is no impact, and in older entries. */
  decision?: DecisionRecord | null
  /** The object before and after; secrets are sealed as in its own row, unchanged variables reduced to their names. */
  before: unknown
  after: unknown
}

export type StoredAuditEntry = AuditEntry & { entryId: string }

type Row = Selectable<Tables['audit_log']>

/**
 * Appends inside the caller's transaction, so that every acknowledged write has its entry. Each entry contains the
 * hash of the previous one in the same account, so a changed or removed entry breaks the account's chain. The head of
 * the chain is sealed (audit-heads.ts).
 */
export async function insertAuditEntry(tx: Tx, entry: AuditEntry, secrets: SecretBox): Promise<string> {
  const head = (await findHead(tx, entry.accountId, secrets)) ?? (await unkeptHead(tx, entry.accountId))
  const row: Omit<Row, 'seq'> = {
    entry_id: newId('aud'),
    at: entry.at,
    account_id: entry.accountId,
    principal: entry.principal,
    surface: entry.surface,
    operation: entry.operation,
    object_type: entry.objectType,
    object_id: entry.objectId,
    before: JSON.stringify(entry.before ?? null),
    after: JSON.stringify(entry.after ?? null),
    outcome: entry.outcome,
    previous_hash: head.hash,
    hash: '',
    token_id: entry.tokenId,
    session_id: entry.sessionId,
    trace_id: entry.traceId,
    client_address: entry.clientAddress,
    agent: entry.agent,
    confirmed_by: entry.confirmedBy,
    undid: entry.undid,
    approval_id: entry.approvalId,
    remediation_run_id: entry.remediationRunId,
    impact: entry.impact && JSON.stringify(entry.impact),
    decision: entry.decision ? JSON.stringify(entry.decision) : null,
    chat: entry.chat && JSON.stringify(entry.chat),
  }
  // Both texts together have up to megabytes.
  const pacer = new Pacer()
  await pacer.after(row.before.length + row.after.length)
  row.hash = hashOfEntry(row)
  await pacer.after(row.before.length + row.after.length)
  await tx.insertInto('audit_log').values(row).execute()
  await saveHead(tx, entry.accountId, { ...head, entries: head.entries + 1, hash: row.hash }, secrets)
  return row.entry_id
}

/** The end of a chain without a stored head: a new chain, or one started by an older version. */
async function unkeptHead(tx: Tx, accountId: string | null): Promise<AuditHead> {
  const own = tx.selectFrom('audit_log').where('account_id', accountId === null ? 'is' : '=', accountId)
  const last = await own.select('hash').orderBy('seq', 'desc').limit(1).executeTakeFirst()
  if (!last) return { entries: 0, hash: '', entriesBefore: 0 }
  const counted = await own.select((e) => e.fn.countAll().as('entries')).executeTakeFirstOrThrow()
  const entries = Number(counted.entries)
  return { entries, hash: last.hash, entriesBefore: entries }
}

/** Sealed values are hashed as a placeholder: a new data key re-seals them and must not break the chain. */
const sealedValue = /"v1\.key_[a-z2-7]+\.[A-Za-z0-9_-]+"/g

/**
 * SHA-256 of an entry's content and the previous entry's hash. Absent fields, such as the trace, are left out, so that
 * entries of versions that did not store them still verify.
 */
export function hashOfEntry(row: Omit<Row, 'hash' | 'seq'>): string {
  const content = [
    row.previous_hash,
    row.entry_id,
    row.at,
    row.account_id,
    row.principal,
    row.surface,
    row.operation,
    row.object_type,
    row.object_id,
    row.outcome,
    row.before.replace(sealedValue, '"sealed"'),
    row.after.replace(sealedValue, '"sealed"'),
    ...(row.token_id === null && row.session_id === null ? [] : [row.token_id, row.session_id]),
    ...(row.trace_id === null ? [] : [{ trace: row.trace_id }]),
    ...(row.agent === null ? [] : [{ agent: row.agent }]),
    ...(row.undid === null ? [] : [{ undid: row.undid }]),
    ...(row.approval_id === null ? [] : [{ approval: row.approval_id }]),
    ...(row.remediation_run_id === null ? [] : [{ remediationRun: row.remediation_run_id }]),
    ...(row.confirmed_by === null ? [] : [{ confirmedBy: row.confirmed_by }]),
    ...(row.impact === null ? [] : [{ impact: row.impact }]),
    ...(row.decision === null ? [] : [{ decision: row.decision }]),
    ...(row.client_address === null ? [] : [{ client: row.client_address }]),
    ...(row.chat === null ? [] : [{ chat: row.chat }]),
  ]
  return createHash('sha256').update(JSON.stringify(content)).digest('hex')
}

/** Which entries of an account; only those that match every given value. */
export interface AuditFilter {
  objectId?: string | undefined
  principalId?: string | undefined
  tokenId?: string | undefined
  sessionId?: string | undefined
  traceId?: string | undefined
  approvalId?: string | undefined
  agent?: string | undefined
  surface?: string | undefined
  outcome?: AuditOutcome | undefined
}

const filterColumns = {
  objectId: 'object_id',
  principalId: 'principal',
  tokenId: 'token_id',
  sessionId: 'session_id',
  traceId: 'trace_id',
  approvalId: 'approval_id',
  agent: 'agent',
  surface: 'surface',
  outcome: 'outcome',
} as const satisfies Record<keyof AuditFilter, keyof Row>

/** Newest first; `before` is the last entry id of the previous page. */
export async function* readAuditEntries(
  tx: Tx,
  of: AuditFilter & { accountId: string },
  page: { limit: number; before: string | null },
): AsyncGenerator<StoredAuditEntry> {
  const bytes = sql<number>`octet_length("before") + octet_length("after")`.as('bytes')
  let query = tx.selectFrom('audit_log').select(['seq as key', bytes]).where('account_id', '=', of.accountId)
  for (const [name, column] of Object.entries(filterColumns)) {
    const value = of[name as keyof AuditFilter]
    if (value !== undefined) query = query.where(column, '=', value)
  }
  if (page.before !== null) {
    // The entry must belong to this account: a cursor must not reveal other accounts' entries.
    query = query.where('seq', '<', (inner) =>
      inner
        .selectFrom('audit_log as known')
        .select('known.seq')
        .where('known.entry_id', '=', page.before as string)
        .where('known.account_id', '=', of.accountId),
    )
  }
  const rows = await query.orderBy('seq', 'desc').limit(page.limit).execute()
  yield* inChunks(rows, async (keys) => {
    const found = tx.selectFrom('audit_log').selectAll().where('seq', 'in', keys).orderBy('seq', 'desc')
    return (await found.execute()).map(entryOf)
  })
}

/** The writes of an account in a time, with what policies decided over; oldest first, the newest `limit` of them. */
export async function listDecidedWrites(
  tx: Tx,
  { accountId, from, to, limit }: { accountId: string; from: string; to: string; limit: number },
): Promise<DecidedWrite[]> {
  const rows = await tx
    .selectFrom('audit_log')
    .select([
      'entry_id',
      'at',
      'operation',
      'object_id',
      'surface',
      'token_id',
      'agent',
      'impact',
      'decision',
    ])
    .where('account_id', '=', accountId)
    .where('outcome', '=', 'done')
    // Changes that follow from another one have no impact of their own.
    .where('impact', 'is not', null)
    .where('at', '>=', from)
    .where('at', '<=', to)
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()
  return rows.reverse().map((row) => ({
    entryId: row.entry_id,
    at: row.at,
    operation: row.operation,
    objectId: row.object_id,
    surface: row.surface as Surface,
    tokenId: row.token_id,
    agent: row.agent,
    impact: row.impact === null ? null : impactRecord.parse(row.impact, row.entry_id),
    decision: row.decision === null ? null : decisionRecord.parse(row.decision, row.entry_id),
  }))
}

export type DecidedWrite = Pick<
  StoredAuditEntry,
  'entryId' | 'at' | 'operation' | 'objectId' | 'surface' | 'tokenId' | 'agent' | 'impact'
> & { decision: DecisionRecord | null }

export async function findAuditEntry(tx: Tx, entryId: string): Promise<StoredAuditEntry | null> {
  const row = await tx.selectFrom('audit_log').selectAll().where('entry_id', '=', entryId).executeTakeFirst()
  return row ? entryOf(row) : null
}

export function entryOf(row: Row): StoredAuditEntry {
  return {
    entryId: row.entry_id,
    at: row.at,
    accountId: row.account_id,
    principal: row.principal,
    surface: row.surface as Surface,
    tokenId: row.token_id,
    sessionId: row.session_id,
    traceId: row.trace_id,
    clientAddress: row.client_address,
    agent: row.agent,
    confirmedBy: row.confirmed_by as ConfirmedBy | null,
    undid: row.undid,
    approvalId: row.approval_id,
    chat: row.chat === null ? null : chatRecord.parse(row.chat, row.entry_id),
    remediationRunId: row.remediation_run_id,
    operation: row.operation,
    objectType: row.object_type,
    objectId: row.object_id,
    outcome: row.outcome as AuditOutcome,
    impact: row.impact === null ? null : impactRecord.parse(row.impact, row.entry_id),
    decision: row.decision === null ? null : decisionRecord.parse(row.decision, row.entry_id),
    before: objectRecord.parse(row.before, row.entry_id),
    after: objectRecord.parse(row.after, row.entry_id),
  }
}
