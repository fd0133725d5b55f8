import { databaseSecretName } from '../../domain/databases/credentials.ts'
import type { Db, Tx } from '../db.ts'
import type { SecretBox } from './secret-box.ts'

/** A sealed value inside a record, and the id of its key. */
const sealedValue = /"(v1\.(key_[a-z2-7]+)\.[A-Za-z0-9_-]+)"/g

/** Locations of sealed values: a table, its key, and its columns with records. */
const places = [
  { table: 'app_envs', key: 'app_env_id', columns: ['record'] },
  { table: 'rollouts', key: 'rollout_id', columns: ['record'] },
  { table: 'job_runs', key: 'job_run_id', columns: ['record'] },
  { table: 'contact_points', key: 'contact_point_id', columns: ['record'] },
  { table: 'audit_log', key: 'entry_id', columns: ['before', 'after'] },
  { table: 'audit_heads', key: 'account_id', columns: ['record'] },
] as const
type Place = (typeof places)[number]

interface Row {
  place: Place
  id: string
  texts: Record<string, string>
}

interface Resealing {
  /** Objects processed so far, of `total`. */
  done: number
  total: number
}

/**
 * Seals every value again that is not sealed with `keyId`. One object with its rollouts, runs and audit entries is
 * one transaction, and equal values stay equal, so that they do not show up as changes (3.3). Safe to interrupt and
 * repeat.
 */
export async function resealEverything(
  db: Db,
  box: SecretBox,
  keyId: string,
  progress: (state: Resealing) => void = () => {},
): Promise<void> {
  const owners = await db.read(sealingOwners)
  for (const [index, owner] of owners.entries()) {
    await db.write((tx) => resealOwner(tx, box, keyId, owner))
    progress({ done: index + 1, total: owners.length })
  }
}

/**
 * Removes data keys that seal no value any more; a key in use stays. Resolves to how many were removed and how many
 * older ones were kept.
 */
export async function dropUnusedKeys(db: Db, keyId: string): Promise<{ dropped: number; kept: number }> {
  return db.write(async (tx) => {
    const rows = await tx.selectFrom('data_keys').select('key_id').where('key_id', '!=', keyId).execute()
    let dropped = 0
    for (const { key_id: old } of rows) {
      if (await isUsed(tx, old)) continue
      await tx.deleteFrom('data_keys').where('key_id', '=', old).execute()
      dropped += 1
    }
    return { dropped, kept: rows.length - dropped }
  })
}

async function isUsed(tx: Tx, keyId: string): Promise<boolean> {
  for (const { table, columns } of places) {
    for (const column of columns) {
      const found = await tx
        .selectFrom(table as 'audit_log')
        .select(column as 'before')
        .where(column as 'before', 'like', `%"v1.${keyId}.%`)
        .limit(1)
        .execute()
      if (found.length > 0) return true
    }
  }
  return false
}

/** Environments, contact points and accounts, deleted ones included: every sealed value belongs to one of them. */
async function sealingOwners(tx: Tx): Promise<string[]> {
  const environments = await tx.selectFrom('app_envs').select('app_env_id as id').execute()
  const points = await tx.selectFrom('contact_points').select('contact_point_id as id').execute()
  const auditEntries = await tx
    .selectFrom('audit_log')
    .select('object_id as id')
    .distinct()
    .where((e) => e.or([e('before', 'like', '%"v1.key_%'), e('after', 'like', '%"v1.key_%')]))
    .execute()
  const heads = await tx.selectFrom('audit_heads').select('account_id as id').execute()
  return [...new Set([...environments, ...points, ...auditEntries, ...heads].map(({ id }) => id))]
}

async function rowsOf(tx: Tx, owner: string): Promise<Row[]> {
  const rows: Row[] = []
  for (const place of places) {
    const ownedBy = {
      app_envs: 'app_env_id',
      rollouts: 'app_env_id',
      job_runs: 'app_env_id',
      contact_points: 'contact_point_id',
      audit_log: 'object_id',
      audit_heads: 'account_id',
    }[place.table]
    const found = (await tx
      .selectFrom(place.table as 'audit_log')
      .select([place.key as 'entry_id', ...(place.columns as unknown as ['before'])])
      .where(ownedBy as 'object_id', '=', owner)
      .execute()) as unknown as Record<string, string>[]
    for (const { [place.key]: id, ...texts } of found) rows.push({ place, id: id as string, texts })
  }
  return rows
}

async function resealOwner(tx: Tx, box: SecretBox, keyId: string, owner: string): Promise<void> {
  const renewed = new Map<string, string>()
  for (const { place, id, texts } of await rowsOf(tx, owner)) {
    const changed: Record<string, string> = {}
    for (const [column, text] of Object.entries(texts)) {
      const next = resealText(text, owner, keyId, box, renewed)
      if (next !== text) changed[column] = next
    }
    if (Object.keys(changed).length === 0) continue
    await tx
      .updateTable(place.table as 'audit_log')
      .set(changed)
      .where(place.key as 'entry_id', '=', id)
      .execute()
  }
}

function resealText(
  text: string,
  owner: string,
  keyId: string,
  box: SecretBox,
  renewed: Map<string, string>,
): string {
  const old = [...text.matchAll(sealedValue)].filter((match) => match[2] !== keyId)
  if (old.length === 0) return text
  const names = boundNames(JSON.parse(text), owner)
  return text.replace(sealedValue, (quoted, sealed: string, sealedWith: string) => {
    if (sealedWith === keyId) return quoted
    const next = renewed.get(sealed) ?? resealed(sealed, names, box)
    // Tenant text that only looks sealed cannot be opened and stays unchanged.
    if (next === null) return quoted
    renewed.set(sealed, next)
    return `"${next}"`
  })
}

/** Every name a value of this record may be bound to; only the right one opens it. */
function boundNames(record: unknown, owner: string): Set<string> {
  const names = new Set([databaseSecretName(owner)])
  const walk = (node: unknown, appEnvId: string): void => {
    if (Array.isArray(node)) for (const one of node) walk(one, appEnvId)
    else if (node !== null && typeof node === 'object') {
      const here = node as Record<string, unknown>
      const id = typeof here.appEnvId === 'string' ? here.appEnvId : appEnvId
      if (typeof here.name === 'string') names.add(`${id}/${here.name}`)
      for (const [key, value] of Object.entries(here)) {
        if (typeof value === 'string') names.add(`${owner}/${key}`)
        else walk(value, id)
      }
    }
  }
  walk(record, owner)
  return names
}

function resealed(sealed: string, names: ReadonlySet<string>, box: SecretBox): string | null {
  for (const name of names) {
    try {
      return box.seal(box.open(sealed, name), name)
    } catch {
      // Bound to another name.
    }
  }
  return null
}
