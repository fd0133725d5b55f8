import { listAudit } from '../../contract/audit.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { findAuditEntry, listAuditEntries, type StoredAuditEntry } from '../../store/repositories/audit.ts'
import { findUsers, type User } from '../../store/repositories/users.ts'
import type { AccountTarget } from '../core/access-targets.ts'
import { changedPaths } from '../core/diff.ts'
import { handler } from '../core/handler.ts'
import { mayReadEntry } from './visibility.ts'

/** Most entries read for one page. A restricted member gets a short page when most of them are hidden. */
const mostRead = 2_000

/** M2: entries of environments that the caller cannot reach are left out. */
export default handler(listAudit, async ({ tx }, input, target) => {
  const { accountId } = target.account
  if (input.cursor !== undefined && (await findAuditEntry(tx, input.cursor))?.accountId !== accountId) {
    throw new AppError('invalid', 'Invalid request', {
      details: 'cursor: must be the cursor of an earlier response',
    })
  }
  const { entries, cursor } = await readPage(tx, target, input)
  const users = await findUsers(tx, [...new Set(entries.map(({ principal }) => principal))])
  return { answer: { entries: entries.map((entry) => shown(entry, users)), cursor } }
})

/** `cursor` is the last entry that was read, shown or hidden; null at the end. */
async function readPage(
  tx: Tx,
  target: AccountTarget,
  {
    objectId,
    limit,
    cursor: start,
  }: { objectId?: string | undefined; limit: number; cursor?: string | undefined },
): Promise<{ entries: StoredAuditEntry[]; cursor: string | null }> {
  const of = { accountId: target.account.accountId, objectId }
  const entries: StoredAuditEntry[] = []
  let cursor = start ?? null
  for (let read = 0; read < mostRead; read += limit) {
    const found = await listAuditEntries(tx, of, { limit: limit + 1, before: cursor })
    for (const entry of found.slice(0, limit)) {
      if (await mayReadEntry(tx, target, entry)) entries.push(entry)
      cursor = entry.entryId
      if (entries.length === limit) break
    }
    const isLast = found.length <= limit && found.at(-1)?.entryId === cursor
    if (isLast || found.length === 0) return { entries, cursor: null }
    if (entries.length === limit) break
  }
  return { entries, cursor }
}

function shown(entry: StoredAuditEntry, users: ReadonlyMap<string, User>) {
  const { entryId, at, principal, surface, operation, objectType, objectId, outcome } = entry
  const user = users.get(principal)
  const kind: 'user' | 'environment' | 'platform' =
    user || principal.startsWith('usr_') ? 'user' : principal.startsWith('env_') ? 'environment' : 'platform'
  return {
    entryId,
    timestamp: at,
    principal: { kind, id: principal, name: user?.name ?? null, email: user?.email ?? null },
    surface,
    operation,
    objectType,
    objectId,
    outcome,
    changes: changedPaths(entry.before, entry.after).map(({ path, before, after }) => ({
      path,
      before: textOf(before),
      after: textOf(after),
    })),
  }
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}
