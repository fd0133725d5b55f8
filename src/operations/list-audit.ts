import { listAudit } from '../contract/audit.ts'
import { AppError } from '../errors.ts'
import { findJournalEntry, listJournal, type StoredJournalEntry } from '../store/journal.ts'
import { findUsers, type User } from '../store/users.ts'
import { changedPaths } from './changes.ts'
import { handler } from './handler.ts'

export default handler(listAudit, async ({ tx }, input, { account }) => {
  const { accountId } = account
  if (input.cursor !== undefined && (await findJournalEntry(tx, input.cursor))?.accountId !== accountId) {
    throw new AppError('invalid', 'Invalid request', {
      details: 'cursor: must be the cursor of an earlier answer',
    })
  }
  const found = await listJournal(
    tx,
    { accountId, objectId: input.objectId },
    { limit: input.limit + 1, before: input.cursor ?? null },
  )
  const page = found.slice(0, input.limit)
  const users = await findUsers(tx, [...new Set(page.map(({ principal }) => principal))])
  const cursor = found.length > input.limit ? (page.at(-1)?.entryId ?? null) : null
  return { answer: { entries: page.map((entry) => shown(entry, users)), cursor } }
})

function shown(entry: StoredJournalEntry, users: ReadonlyMap<string, User>) {
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
