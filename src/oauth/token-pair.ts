import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/** The tokens that a client holds after a sign-in or a refresh. */
export interface TokenPair {
  access: string
  refresh: string
}

/** The pair for the program that presents `refreshToken` once more: of this token, only the hash is stored. */
export function sealPair(pair: TokenPair, refreshToken: string): string {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', keyOf(refreshToken), nonce)
  const sealed = Buffer.concat([cipher.update(JSON.stringify(pair), 'utf8'), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url')
}

export function openPair(sealed: string, refreshToken: string): TokenPair {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', keyOf(refreshToken), bytes.subarray(0, 12), {
    authTagLength: 16,
  })
  decipher.setAuthTag(bytes.subarray(12, 28))
  return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString('utf8'))
}

/** Tokens have 256 random bits. The words keep the key apart from the stored hash of the token. */
function keyOf(refreshToken: string): Buffer {
  return createHash('sha256').update(`successor of ${refreshToken}`).digest()
}
