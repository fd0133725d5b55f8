import { AppError } from '../../errors.ts'
import type { Caller } from './caller.ts'

/** The user behind a user token. Rows without `environmentToken` are refused to others before this. */
export function userOf(caller: Caller): string {
  if (caller.kind === 'user') return caller.userId
  throw new AppError('forbidden', 'This operation needs a user token', { rule: 'A2' })
}

/** The user behind a user token, as entries store it; null for an environment token. */
export function userIdOrNull(caller: Caller): string | null {
  return caller.kind === 'user' ? caller.userId : null
}
