import { type Clock, timestamp } from '../../clock.ts'
import type { ToolGroup } from '../../contract/tool-groups.ts'
import type { Db } from '../../store/db.ts'
import { listMembershipsOfUser } from '../../store/repositories/accounts.ts'
import { type CredentialKind, callerOf } from './caller.ts'

/** The most that a caller may do, in any of its accounts. */
interface Permissions {
  kind: 'user' | 'environment'
  readOnly: boolean
  /** Groups of tools whose writes the token may call; null: all. */
  groups: readonly ToolGroup[] | null
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
    const { readOnly, access } = caller.token
    const limits = { readOnly, groups: access.groups }
    if (caller.kind === 'environment')
      return { kind: 'environment', ...limits, admin: false, manageMembers: false }
    const memberships = await listMembershipsOfUser(tx, caller.userId)
    return {
      kind: 'user',
      ...limits,
      admin: memberships.some((membership) => membership.admin),
      manageMembers: memberships.some((membership) => membership.manageMembers),
    }
  })
}
