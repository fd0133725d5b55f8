import { type Clock, timestamp } from '../../clock.ts'
import type { Db } from '../../store/db.ts'
import { listMembershipsOfUser } from '../../store/repositories/accounts.ts'
import { type CredentialKind, callerOf } from './caller.ts'

/** The most that a caller may do, in any of its accounts. */
interface Permissions {
  kind: 'user' | 'environment'
  readOnly: boolean
  admin: boolean
  manageMembers: boolean
}

/** Used to list permitted operations only; every call is still authorized. Throws `unauthenticated`. */
export function permissionsOf(
  { db, clock }: { db: Db; clock: Clock },
  presented: { token: string; credential?: CredentialKind },
): Promise<Permissions> {
  return db.read(async (tx) => {
    const caller = await callerOf(tx, presented, timestamp(clock.wallMs()))
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
  })
}
