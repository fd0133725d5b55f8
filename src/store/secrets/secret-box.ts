import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { newId } from '../../domain/ids.ts'
import { AppError } from '../../errors.ts'
import type { Secret } from '../../log.ts'
import type { Db, Tx } from '../db.ts'

/**
 * Envelope encryption (docs/interface.md#secrets): the master key wraps data keys, and a data key seals values with
 * AES-256-GCM. The key id is stored with the value, and the row's name is bound as associated data, so that a sealed
 * value copied to another row does not open.
 */
export interface SecretBox {
  /** `boundTo` names the row and field, such as `env_…/DATABASE_URL`. */
  seal(clear: string, boundTo: string): string
  open(sealed: string, boundTo: string): string
}

const nonceAndTagBytes = 28

/** A box that can load data keys created by another process, such as `longshore secrets rotate`. */
export interface RefreshingSecretBox extends SecretBox {
  /** Seals with the newest data key from now on; resolves to its id. Older keys stay usable. */
  refresh(): Promise<string>
}

/** UTF-8 bytes of a sealed value, without opening it. */
export function clearBytes(sealed: string): number {
  // Searched from the front: the text behind the key id has up to 90,000 characters.
  const length = sealed.length - 1 - sealed.indexOf('.', 'v1.'.length)
  return Math.floor((length * 3) / 4) - nonceAndTagBytes
}

export function parseMasterKey(text: Secret): Buffer {
  const value = text.reveal()
  const key = /^[0-9a-fA-F]{64}$/.test(value)
    ? Buffer.from(value, 'hex')
    : Buffer.from(value.replaceAll('-', '+').replaceAll('_', '/'), 'base64')
  if (key.length !== 32) {
    throw new AppError('invalid', 'The master key must be 32 bytes', {
      details:
        'It is LONGSHORE_MASTER_KEY, else the file master-key in LONGSHORE_HOME: 64 hex digits or base64. Restore the original key of this installation; no other key opens its secrets.',
    })
  }
  return key
}

/** `masterKey` is called again when a new data key appears: the master key may have been rotated too. */
export async function openSecretBox(
  db: Db,
  masterKey: Buffer | (() => Buffer),
  createdAt: string,
): Promise<RefreshingSecretBox> {
  const master = typeof masterKey === 'function' ? masterKey : () => masterKey
  const keys = await db.write(async (tx) => {
    const known = await loadKeys(tx, master)
    return known.size > 0 ? known : new Map([await addDataKey(tx, master(), createdAt)])
  })
  let newest = [...keys.keys()].at(-1) as string
  return {
    async refresh() {
      const ids = await db.read(dataKeyIds)
      if (ids.some((id) => !keys.has(id))) {
        for (const [id, key] of await db.read((tx) => loadKeys(tx, master))) keys.set(id, key)
      }
      newest = ids.at(-1) ?? newest
      return newest
    },
    seal(clear, boundTo) {
      return `v1.${newest}.${encrypt(keys.get(newest) as Buffer, clear, boundTo)}`
    },
    open(sealed, boundTo) {
      const [version, keyId, ...rest] = sealed.split('.')
      const key = keys.get(keyId ?? '')
      if (version !== 'v1' || !key) throw new Error('sealed with a key that this installation does not have')
      return decrypt(key, rest.join('.'), boundTo)
    },
  }
}

/** Oldest first. */
async function dataKeyIds(tx: Tx): Promise<string[]> {
  const rows = await tx.selectFrom('data_keys').select('key_id').orderBy('created_at').execute()
  return rows.map((row) => row.key_id)
}

/** Creates a data key that becomes the newest one, whatever the clock shows. */
export async function addDataKey(tx: Tx, masterKey: Buffer, at: string): Promise<[string, Buffer]> {
  const last = await tx
    .selectFrom('data_keys')
    .select('created_at')
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  const createdMs = Math.max(Date.parse(at), last ? Date.parse(last.created_at) + 1 : 0)
  const keyId = newId('key')
  const key = randomBytes(32)
  const values = {
    key_id: keyId,
    wrapped: wrap(masterKey, key, keyId),
    created_at: new Date(createdMs).toISOString(),
  }
  await tx.insertInto('data_keys').values(values).execute()
  return [keyId, key]
}

/** Wraps every data key with another master key; changes nothing if one of them cannot be opened. */
export async function rewrapDataKeys(tx: Tx, from: Buffer, to: Buffer): Promise<void> {
  for (const [keyId, key] of await loadKeys(tx, () => from)) {
    await tx
      .updateTable('data_keys')
      .set({ wrapped: wrap(to, key, keyId) })
      .where('key_id', '=', keyId)
      .execute()
  }
}

/** Whether a master key opens the existing data keys; false if there are none. */
export async function opensDataKeys(tx: Tx, masterKey: Buffer): Promise<boolean> {
  const rows = await dataKeyRows(tx)
  try {
    for (const row of rows) unwrap(masterKey, row.wrapped, row.key_id)
    return rows.length > 0
  } catch {
    return false
  }
}

async function loadKeys(tx: Tx, master: () => Buffer): Promise<Map<string, Buffer>> {
  const rows = await dataKeyRows(tx)
  return new Map(rows.map((row) => [row.key_id, unwrap(master(), row.wrapped, row.key_id)]))
}

function dataKeyRows(tx: Tx) {
  return tx.selectFrom('data_keys').selectAll().orderBy('created_at').execute()
}

function wrap(masterKey: Buffer, key: Buffer, keyId: string): string {
  return encrypt(masterKey, key.toString('base64'), keyId)
}

function unwrap(masterKey: Buffer, wrapped: string, keyId: string): Buffer {
  try {
    return Buffer.from(decrypt(masterKey, wrapped, keyId), 'base64')
  } catch (cause) {
    throw new AppError('unavailable', 'The master key does not open this data directory', {
      details:
        'LONGSHORE_MASTER_KEY or <home>/master-key must be the key that this data directory was created with.',
      cause,
    })
  }
}

function encrypt(key: Buffer, clear: string, boundTo: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  cipher.setAAD(Buffer.from(boundTo))
  const sealed = Buffer.concat([cipher.update(clear, 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

function decrypt(key: Buffer, text: string, boundTo: string): string {
  const bytes = Buffer.from(text, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12), { authTagLength: 16 })
  decipher.setAAD(Buffer.from(boundTo))
  decipher.setAuthTag(bytes.subarray(12, 28))
  return Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8')
}
