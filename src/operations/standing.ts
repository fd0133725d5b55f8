import { listMembershipsOfUser } from '../store/accounts.ts'
import type { Tx } from '../store/db.ts'
import { callerOf } from './caller.ts'

/** What a caller may do at best, in any of its accounts. */
export interface Standing {
  kind: 'user' | 'environment'
  readOnly: boolean
  admin: boolean
  manageMembers: boolean
}

/** For showing a caller only what it may do; every call is still decided by itself. Throws `unauthenticated`. */
export async function standingOf(tx: Tx, token: string): Promise<Standing> {
  const caller = await callerOf(tx, token)
  const { readOnly } = caller.token
  if (caller.kind === 'environment')
    return { kind: 'environment', readOnly, admin: false, manageMembers: false }
  const memberships = await listMembershipsOfUser(tx, caller.userId)
  return {
    kind: 'user',
    readOnly,
    admin: memberships.some((membership) => membership.admin),
    manageMembers: memberships.some((membership) => membership.manageMembers),
  }
}
