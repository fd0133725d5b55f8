import { setTimeout } from 'node:timers/promises'
import { sql } from 'kysely'
import { databaseSecretName } from '../../domain/databases/credentials.ts'
import { AppError } from '../../errors.ts'
import type { Db, Tx } from '../db.ts'
import { chunksOf } from '../in-chunks.ts'
import type { SecretBox } from './secret-box.ts'

/** A sealed value inside a record, and the id of its key. */
const sealedValue = /"(v1\.(key_[a-z2-7]+)\.[A-Za-z0-9_-]+)"/g

/** Where sealed values are: the one row of each object, then its history, which has any number of rows. */
const places = [
  { table: 'app_envs', key: 'app_env_id', owner: 'app_env_id', columns: ['record'], order: 'created_at' },
  {
    table: 'contact_points',
    key: 'contact_point_id',
    owner: 'contact_point_id',
    columns: ['record'],
    order: 'created_at',
  },
  { table: 'domains', key: 'domain_id', owner: 'domain_id', columns: ['record'], order: 'created_at' },
  {
    table: 'acme_accounts',
    key: 'directory_url',
    owner: 'directory_url',
    columns: ['record'],
    order: 'created_at',
  },
  {
    table: 'chat_connections',
    key: 'connection_id',
    owner: 'connection_id',
    columns: ['record'],
    order: 'created_at',
  },
  {
    table: 'notifications',
    key: 'notification_id',
    owner: 'notification_id',
    columns: ['body'],
    order: 'created_at',
  },
  { table: 'approvals', key: 'approval_id', owner: 'approval_id', columns: ['sealed'], order: 'created_at' },
  { table: 'approval_links', key: 'link_id', owner: 'link_id', columns: ['sealed'], order: 'created_at' },
  { table: 'audit_heads', key: 'account_id', owner: 'account_id', columns: ['record'], order: 'account_id' },
  { table: 'rollouts', key: 'rollout_id', owner: 'app_env_id', columns: ['record'], order: 'created_at' },
  { table: 'audit_log', key: 'entry_id', owner: 'object_id', columns: ['before', 'after'], order: 'seq' },
  { table: 'job_runs', key: 'job_run_id', owner: 'app_env_id', columns: ['record'], order: 'created_at' },
] as const
type Place = (typeof places)[number]
const isObject = ({ key, owner }: Place) => key === owner

interface Row {
  place: Place
  key: string
  bytes: number
}

interface Resealing {
  /** Objects processed so far, of `total`. */
  done: number
  total: number
}

/** Everything needed to seal the values of one owner. */
interface Work {
  owner: string
  keyId: string
  box: SecretBox
  /** Values sealed with the new key, by the name they are bound to and their clear text. */
  renewed: Map<string, string>
  /** The same by the sealed values that they replace. */
  replaced: Map<string, string>
}

/**
 * Seals every value again that is sealed with another key than `keyId`. Rows are searched in a read and sealed a megabyte
 * at a time, because other writes wait meanwhile. Equal values of one owner stay equal, so that they do not show up as
 * changes (3.3): an object is one transaction with its newest history, and the run after a crash makes all equal again.
 */
export async function resealEverything(
  db: Db,
  box: SecretBox,
  keyId: string,
  progress: (state: Resealing) => void = () => {},
): Promise<void> {
  const owners = await db.read(async (tx) => rowsByOwner(tx, await olderKeys(tx, keyId)))
  let done = 0
  for (const [owner, rows] of owners) {
    const work: Work = { owner, keyId, box, renewed: new Map(), replaced: new Map() }
    const own = places.filter(isObject).map((place) => ({ place, key: owner }))
    for (const [index, chunk] of [...chunksOf(rows)].entries()) {
      await db.write(async (tx) => {
        await requireNewest(tx, keyId)
        for (const row of index === 0 ? [...own, ...chunk] : chunk) await resealRow(tx, row, work)
      })
    }
    done += 1
    progress({ done, total: owners.size })
  }
}

/**
 * Removes data keys that seal no value any more; a key in use stays. Resolves to how many were removed and how many
 * older ones were kept.
 */
export async function dropUnusedKeys(db: Db, keyId: string): Promise<{ dropped: number; kept: number }> {
  return dropUnused(db, keyId, (tx) => olderKeys(tx, keyId))
}

/**
 * Removes a new key that not every control plane loaded, unless one has used it. A control plane that loaded it at the last
 * moment detects the removal within a second; if it sealed a value until then, the key is restored.
 */
export async function withdrawKey(db: Db, keyId: string, usedWithinMs = 3_000): Promise<void> {
  const key = await db.read((tx) =>
    tx.selectFrom('data_keys').selectAll().where('key_id', '=', keyId).executeTakeFirst(),
  )
  const { dropped } = await dropUnused(db, keyId, async () => [keyId])
  if (!key || dropped === 0) return
  await setTimeout(usedWithinMs)
  if ((await db.read((tx) => unusedOf(tx, [keyId]))).length > 0) return
  await db.write((tx) => tx.insertInto('data_keys').values(key).execute())
}

/** All values are searched in a read; those that may have come since then, in the transaction. */
async function dropUnused(db: Db, newest: string, candidatesIn: (tx: Tx) => Promise<string[]>) {
  const since = new Date(Date.now() - longestTransactionMs).toISOString()
  const { unused, lastSeq } = await db.read(async (tx) => {
    const last = await tx
      .selectFrom('audit_log')
      .select((e) => e.fn.max('seq').as('seq'))
      .executeTakeFirst()
    return { unused: await unusedOf(tx, await candidatesIn(tx)), lastSeq: Number(last?.seq ?? 0) }
  })
  return db.write(async (tx) => {
    await requireNewest(tx, newest)
    const candidates = await candidatesIn(tx)
    const droppable = await unusedOf(tx, unused, { at: since, seq: lastSeq - mostInFlight })
    for (const old of droppable) await tx.deleteFrom('data_keys').where('key_id', '=', old).execute()
    return { dropped: droppable.length, kept: candidates.length - droppable.length }
  })
}

/** The later of two rotations wins and removes the key of the earlier one, so the earlier one has to stop. */
async function requireNewest(tx: Tx, keyId: string): Promise<void> {
  const keys = tx.selectFrom('data_keys').select('key_id')
  const newest = await keys.orderBy('created_at', 'desc').limit(1).executeTakeFirst()
  if (newest?.key_id === keyId) return
  throw new AppError('conflict', 'Another rotation of the data keys has begun', {
    details: 'It encrypts everything again, also what this one has done. Wait until it has ended.',
  })
}

async function olderKeys(tx: Tx, keyId: string): Promise<string[]> {
  const rows = await tx.selectFrom('data_keys').select('key_id').where('key_id', '!=', keyId).execute()
  return rows.map(({ key_id }) => key_id)
}

const longestTransactionMs = 10 * 60_000
/** PostgreSQL shows rows as they are committed: an entry may come after one with a higher number. */
const mostInFlight = 1_000

interface Since {
  at: string
  seq: number
}

async function unusedOf(tx: Tx, keyIds: readonly string[], since?: Since): Promise<string[]> {
  const unused: string[] = []
  for (const keyId of keyIds) if (!(await isUsed(tx, keyId, since))) unused.push(keyId)
  return unused
}

/** Whether a value is sealed with a key: anywhere, or in an object or a row of a history that is new since. */
async function isUsed(tx: Tx, keyId: string, since?: Since): Promise<boolean> {
  for (const place of places) {
    let query = rowsSealedWith(tx, place, [keyId])
    if (since && place.table === 'audit_log') query = query.where('seq', '>', since.seq)
    else if (since && !isObject(place)) {
      // By environment, because the indexes begin with it.
      const environments = tx.selectFrom('app_envs').select('app_env_id')
      query = query
        .where(place.owner as 'object_id', 'in', environments)
        .where(place.order as 'at', '>=', since.at)
    }
    const found = await query
      .select(place.key as 'entry_id')
      .limit(1)
      .execute()
    if (found.length > 0) return true
  }
  return false
}

function rowsSealedWith(tx: Tx, { table, columns }: Place, keyIds: readonly string[]) {
  return tx
    .selectFrom(table as 'audit_log')
    .where((e) =>
      e.or(columns.flatMap((column) => keyIds.map((id) => e(column as 'before', 'like', `%"v1.${id}.%`)))),
    )
}

/** For each owner the object, then its history from the newest on. */
async function rowsByOwner(tx: Tx, keyIds: readonly string[]): Promise<Map<string, Row[]>> {
  const owners = new Map<string, Row[]>()
  if (keyIds.length === 0) return owners
  for (const place of places) {
    const lengths = place.columns.map((column) => sql`octet_length(${sql.ref(column)})`)
    const found = await rowsSealedWith(tx, place, keyIds)
      .select([place.key as 'entry_id', place.owner as 'object_id'])
      .select(sql<number>`${sql.join(lengths, sql` + `)}`.as('bytes'))
      .orderBy(place.order as 'seq', 'desc')
      .execute()
    for (const row of found as unknown as Record<string, string>[]) {
      const owner = row[place.owner]!
      const rows = owners.get(owner) ?? []
      owners.set(owner, rows)
      rows.push({ place, key: row[place.key]!, bytes: Number(row.bytes) })
    }
  }
  return owners
}

async function resealRow(tx: Tx, { place, key }: Pick<Row, 'place' | 'key'>, work: Work): Promise<void> {
  const row = tx.selectFrom(place.table as 'audit_log').where(place.key as 'entry_id', '=', key)
  const texts = await row.select(place.columns as unknown as ['before']).executeTakeFirst()
  if (!texts) return
  const changed: Record<string, string> = {}
  for (const [column, text] of Object.entries(texts)) {
    const next = resealText(text, work)
    if (next !== text) changed[column] = next
  }
  if (Object.keys(changed).length === 0) return
  await tx
    .updateTable(place.table as 'audit_log')
    .set(changed)
    .where(place.key as 'entry_id', '=', key)
    .execute()
}

function resealText(text: string, { owner, keyId, box, renewed, replaced }: Work): string {
  if (!text.includes('"v1.key_')) return text
  const names = boundNames(JSON.parse(text), owner)
  return text.replace(sealedValue, (quoted, sealed: string, sealedWith: string) => {
    const known = replaced.get(sealed)
    if (known !== undefined) return `"${known}"`
    const opened = openAny(sealed, names.get(sealed) ?? [], box)
    // Tenant text that only looks sealed cannot be opened and stays unchanged.
    if (!opened) return quoted
    const id = JSON.stringify([opened.name, opened.clear])
    const next = sealedWith === keyId ? sealed : (renewed.get(id) ?? box.seal(opened.clear, opened.name))
    if (!renewed.has(id)) renewed.set(id, next)
    replaced.set(sealed, next)
    return `"${next}"`
  })
}

/** The names that each sealed value of a record may be bound to; only the right one opens it. */
function boundNames(record: unknown, owner: string): Map<string, Set<string>> {
  const names = new Map<string, Set<string>>()
  const walk = (node: unknown, appEnvId: string): void => {
    if (Array.isArray(node)) for (const one of node) walk(one, appEnvId)
    else if (node !== null && typeof node === 'object') {
      const here = node as Record<string, unknown>
      const id = typeof here.appEnvId === 'string' ? here.appEnvId : appEnvId
      for (const [key, value] of Object.entries(here)) {
        if (typeof value !== 'string') walk(value, id)
        else if (value.startsWith('v1.key_')) {
          const known = names.get(value) ?? new Set([databaseSecretName(owner), `${owner}/${key}`])
          names.set(value, known.add(`${id}/${here.name}`))
        }
      }
    }
  }
  walk(record, owner)
  return names
}

function openAny(sealed: string, names: Iterable<string>, box: SecretBox) {
  for (const name of names) {
    try {
      return { name, clear: box.open(sealed, name) }
    } catch {
      // Bound to another name.
    }
  }
  return null
}
