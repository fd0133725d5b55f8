import { randomBytes } from 'node:crypto'

export type IdPrefix =
  | 'acc'
  | 'app'
  | 'env'
  | 'cp'
  | 'alr'
  | 'mem'
  | 'usr'
  | 'dep'
  | 'run'
  | 'upl'
  | 'rol'
  | 'pod'
  | 'var'
  | 'aud'
  | 'key'
  | 'tok'
  | 'evt'
  | 'ntc'
  | 'bak'
  | 'rst'

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/** An opaque id with a readable prefix and 100 random bits; lower-case, so it also fits into host and container names. */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${randomText(20)}`
}

/** Random lower-case letters and digits 2 to 7, five bits each. */
export function randomText(length: number): string {
  let text = ''
  for (const byte of randomBytes(length)) text += alphabet[byte & 31]
  return text
}
