import { createHash, randomBytes } from 'node:crypto'

/** Tokens of one user, with the agents that are connected; each of them is work for the rate limits. */
export const mostTokensOfUser = 50

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

/** The kinds of token by prefix. The last three are of OAuth: a token of an agent, its successor, and a code. */
const prefixes = { user: 'lsu_', environment: 'lse_', access: 'lsa_', refresh: 'lsr_', code: 'lsc_' } as const

/** The prefix, 32 random bytes in base62, and a checksum by which secret scanners recognize real tokens. */
export function newToken(kind: keyof typeof prefixes): string {
  const prefix = prefixes[kind]
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
