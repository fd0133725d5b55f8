import { randomBytes } from 'node:crypto'
import type { ResourceIdPrefix } from '../contract/resources.ts'

/** Prefixes of object types, and of their parts and leftovers. */
type IdPrefix =
  | ResourceIdPrefix
  | 'dep'
  | 'rol'
  | 'pod'
  | 'var'
  | 'key'
  | 'evt'
  | 'ntc'
  | 'cli'
  | 'cms'
  | 'chq'
  | 'lnk'

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'

/**
 * An opaque id with a readable prefix and 100 random bits; lower-case, so that it can be part of host and container
 * names.
 */
export function newId(prefix: IdPrefix): string {
  return `${prefix}_${randomText(20)}`
}

/** Random lower-case letters and digits 2 to 7, five bits each. */
export function randomText(length: number): string {
  let text = ''
  for (const byte of randomBytes(length)) text += alphabet[byte & 31]
  return text
}
