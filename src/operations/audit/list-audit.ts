import { listAudit } from '../../contract/audit.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import {
  type AuditFilter,
  findAuditEntry,
  readAuditEntries,
  type StoredAuditEntry,
} from '../../store/repositories/audit.ts'
import { findGrants } from '../../store/repositories/oauth-grants.ts'
import { findUsers, type User } from '../../store/repositories/users.ts'
import type { AccountTarget } from '../core/access-targets.ts'
import { changedPaths } from '../core/diff.ts'
import { handler } from '../core/handler.ts'
import { shownImpact } from '../core/impact.ts'
import { shownText } from '../core/visibility.ts'
import { idsOf } from './filter-ids.ts'
import { mayReadEntry } from './visibility.ts'

/** The newest entries of an object in which its name is looked for. */
const nameSearch = { limit: 50, before: null }

/** Most entries read for one page. A restricted member gets a short page when most of them are hidden. */
const mostRead = 2_000
/** Characters of changed values after which a page ends. */
const mostShown = 1024 * 1024

/** An entry without the objects before and after, which can hold megabytes. */
type Shown = Omit<StoredAuditEntry, 'before' | 'after'> & { changes: Change[]; objectName: string | null }

interface Change {
  path: string
  before: string | null
  after: string | null
}

/** M2: entries of environments that the caller cannot reach are left out. */
export default handler(listAudit, async ({ tx }, input, target) => {
  const { accountId } = target.account
  if (input.cursor !== undefined && (await findAuditEntry(tx, input.cursor))?.accountId !== accountId) {
    throw new AppError('invalid', 'Invalid request', {
      details: 'cursor: must be the cursor of an earlier response',
    })
  }
  const { entries, cursor } = await readPage(tx, target, await idsOf(tx, target, input))
  const names = await otherNames(tx, accountId, entries)
  const users = await findUsers(tx, [...new Set(entries.map(({ principal }) => principal))])
  const tokenIds = entries.flatMap(({ tokenId }) => tokenId ?? [])
  const grants = await findGrants(tx, [...new Set(tokenIds)])
  const answers = entries.map(async (entry) => ({
    ...answerOf(entry, users, grants),
    objectName: entry.objectName ?? names.get(entry.objectId) ?? null,
    impact: entry.impact && shownImpact({ ...target }, entry.impact),
    callerKind: entry.decision?.kind ?? null,
    policy: entry.decision?.decision ?? null,
    undid: await undoneBy(tx, accountId, entry),
  }))
  return { answer: { entries: await Promise.all(answers), cursor } }
})

/** Entries that change no named field are of objects that others name, also if they were deleted since. */
async function otherNames(
  tx: Tx,
  accountId: string,
  entries: readonly Shown[],
): Promise<Map<string, string>> {
  const names = new Map<string, string>()
  const nameless = entries.filter(({ objectName, objectId }) => objectName === null && objectId !== '')
  for (const objectId of new Set(nameless.map((entry) => entry.objectId))) {
    for await (const { before, after } of readAuditEntries(tx, { accountId, objectId }, nameSearch)) {
      const name = nameOf(after) ?? nameOf(before)
      if (name === null) continue
      names.set(objectId, name)
      break
    }
  }
  return names
}

/** Ends at `limit` entries or `mostShown`. `cursor` is the last entry that was read, shown or hidden; null at the end. */
async function readPage(
  tx: Tx,
  target: AccountTarget,
  { limit, cursor: start, ...filter }: AuditFilter & { limit: number; cursor?: string | undefined },
): Promise<{ entries: Shown[]; cursor: string | null }> {
  const of = { ...filter, accountId: target.account.accountId }
  const entries: Shown[] = []
  let cursor = start ?? null
  let shown = 0
  for (let read = 0; read < mostRead; read += limit) {
    let seen = 0
    let isLast = true
    for await (const entry of readAuditEntries(tx, of, { limit: limit + 1, before: cursor })) {
      isLast = seen < limit && entries.length < limit && shown < mostShown
      if (!isLast) break
      seen += 1
      cursor = entry.entryId
      if (!(await mayReadEntry(tx, target, entry))) continue
      const { before, after, ...rest } = entry
      const changes = changesOf(before, after, (text) => shownText(target, entry, text))
      shown += changes.reduce((sum, one) => sum + (one.before?.length ?? 0) + (one.after?.length ?? 0), 0)
      entries.push({ ...rest, changes, objectName: nameOf(after) ?? nameOf(before) })
    }
    if (isLast) return { entries, cursor: null }
    if (entries.length === limit || shown >= mostShown) break
  }
  return { entries, cursor }
}

function answerOf(
  entry: Shown,
  users: ReadonlyMap<string, User>,
  grants: ReadonlyMap<string, { clientName: string }>,
) {
  const { at, principal, accountId: _, ...rest } = entry
  const user = users.get(principal)
  const kind: 'user' | 'environment' | 'platform' =
    user || principal.startsWith('usr_') ? 'user' : principal.startsWith('env_') ? 'environment' : 'platform'
  const named = { kind, id: principal, name: user?.name ?? null, email: user?.email ?? null }
  // Older entries record no agent.
  const agent = entry.agent ?? grants.get(entry.tokenId ?? '')?.clientName ?? null
  return { ...rest, timestamp: at, principal: named, agent }
}

/** The entry that an undo undid: of the same object, so the caller may see it too. */
async function undoneBy(tx: Tx, accountId: string, { undid }: Shown) {
  const entry = undid === null ? null : await findAuditEntry(tx, undid)
  if (entry?.accountId !== accountId) return null
  return { entryId: entry.entryId, operation: entry.operation, timestamp: entry.at }
}

function nameOf(recorded: unknown): string | null {
  const { cliEnvName, name, email } = (recorded ?? {}) as Record<string, unknown>
  const found = [cliEnvName, name, email].find((one) => typeof one === 'string' && one !== '')
  return (found as string | undefined) ?? null
}

function changesOf(before: unknown, after: unknown, shown: (text: string) => string): Change[] {
  const textOf = (value: unknown) => {
    if (value === null || value === undefined) return null
    return shown(typeof value === 'string' ? value : JSON.stringify(value))
  }
  return changedPaths(before, after).map((change) => ({
    path: change.path,
    before: textOf(change.before),
    after: textOf(change.after),
  }))
}
