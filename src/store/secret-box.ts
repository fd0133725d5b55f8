import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { newId } from '../domain/ids.ts'
import { AppError } from '../errors.ts'
import type { Secret } from '../log.ts'
import type { Db, Tx } from './db.ts'

/**
 * Envelope encryption (goals.md, Secrets): the master key wraps data keys, a data key seals values with
 * AES-256-GCM. The key id is stored with the value, and the row it belongs to is bound as associated data, so a
 * sealed value copied to another row does not open.
 */
export interface SecretBox {
  /** `boundTo` names the row and field, such as `env_…/DATABASE_URL`. */
  seal(clear: string, boundTo: string): string
  open(sealed: string, boundTo: string): string
}

export function parseMasterKey(text: Secret): Buffer {
  const value = text.reveal()
  const key = /^[0-9a-fA-F]{64}$/.test(value)
    ? Buffer.from(value, 'hex')
    : Buffer.from(value.replaceAll('-', '+').replaceAll('_', '/'), 'base64')
  if (key.length !== 32) throw new AppError('invalid', 'The master key must be 32 bytes')
  return key
}

export async function openSecretBox(db: Db, masterKey: Buffer, createdAt: string): Promise<SecretBox> {
  const keys = await db.write(async (tx) => loadKeys(tx, masterKey, createdAt))
  const newest = [...keys.keys()].at(-1) as string
  return {
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

async function loadKeys(tx: Tx, masterKey: Buffer, createdAt: string): Promise<Map<string, Buffer>> {
  const rows = await tx.selectFrom('data_keys').selectAll().orderBy('created_at').execute()
  if (rows.length === 0) {
    const keyId = newId('key')
    const key = randomBytes(32)
    const wrapped = encrypt(masterKey, key.toString('base64'), keyId)
    await tx.insertInto('data_keys').values({ key_id: keyId, wrapped, created_at: createdAt }).execute()
    return new Map([[keyId, key]])
  }
  return new Map(rows.map((row) => [row.key_id, unwrap(masterKey, row.wrapped, row.key_id)]))
}

function unwrap(masterKey: Buffer, wrapped: string, keyId: string): Buffer {
  try {
    return Buffer.from(decrypt(masterKey, wrapped, keyId), 'base64')
  } catch (cause) {
    throw new AppError('unavailable', 'The master key does not open this home', {
      details: 'LONGSHORE_MASTER_KEY or <home>/master-key must be the key this home was made with.',
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
