import { createHash, randomBytes } from 'node:crypto'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function base62(bytes: Buffer, length: number): string {
  let rest = BigInt(`0x${bytes.toString('hex')}`)
  let text = ''
  while (text.length < length) {
    text = alphabet[Number(rest % 62n)] + text
    rest /= 62n
  }
  return text
}

/** `lsu_` or `lse_`, 32 random bytes in base62, and a checksum by which secret scanners recognize real tokens. */
export function newToken(kind: 'user' | 'environment'): string {
  const prefix = kind === 'user' ? 'lsu_' : 'lse_'
  const body = base62(randomBytes(32), 43)
  const checksum = base62(
    createHash('sha256')
      .update(prefix + body)
      .digest()
      .subarray(0, 5),
    6,
  )
  return prefix + body + checksum
}

/** The stored form of a token. Tokens are random, so a plain SHA-256 cannot be reversed. */
export function tokenHash(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
