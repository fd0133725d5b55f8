import type { listMembers } from '../../../contract/members.ts'
import type { OutputOf } from '../../../contract/operation.ts'

type Members = OutputOf<typeof listMembers>
export type Member = Members['members'][number]
export type ListedEnvironment = NonNullable<Members['appEnvs']>[number]

/** The chosen access of a member. Stored as a list of ids; an empty list means full access (M5). */
export type Access = { full: true } | { full: false; ids: readonly string[] }
/** Access by membership id, for the members that were edited. */
export type Draft = ReadonlyMap<string, Access>

export function accessOf({ allowedAppEnvIds }: Member): Access {
  return allowedAppEnvIds.length === 0 ? { full: true } : { full: false, ids: allowedAppEnvIds }
}

export function isOpen(access: Access, appEnvId: string): boolean {
  return access.full || access.ids.includes(appEnvId)
}

/** The same access with one environment opened or closed. Full access minus one becomes a list of the others. */
export function toggled(access: Access, appEnvId: string, all: readonly ListedEnvironment[]): Access {
  const ids = access.full ? all.map((one) => one.appEnvId) : access.ids
  return {
    full: false,
    ids: isOpen(access, appEnvId) ? ids.filter((id) => id !== appEnvId) : [...ids, appEnvId],
  }
}

/** Environments that an access opens. Those that the other version lacks come first, because a long list is cut. */
export function opened(
  access: Access,
  other: Access,
  all: readonly ListedEnvironment[],
): ListedEnvironment[] {
  const open = all.filter(({ appEnvId }) => isOpen(access, appEnvId))
  const isShared = ({ appEnvId }: ListedEnvironment) => isOpen(other, appEnvId)
  return [...open.filter((one) => !isShared(one)), ...open.filter(isShared)]
}

/** A list without entries cannot be saved: the platform would read it as full access (M5). */
export function closesEverything(access: Access): boolean {
  return !access.full && access.ids.length === 0
}

export interface AccessChange {
  member: Member
  access: Access
  opens: ListedEnvironment[]
  closes: ListedEnvironment[]
}

/** Members whose access differs from the stored one, with the environments that the change opens and closes. */
export function changesOf(
  draft: Draft,
  members: readonly Member[],
  all: readonly ListedEnvironment[],
): AccessChange[] {
  return members.flatMap((member) => {
    const access = draft.get(member.membershipId)
    if (!access) return []
    const before = accessOf(member)
    const opens = all.filter(({ appEnvId }) => isOpen(access, appEnvId) && !isOpen(before, appEnvId))
    const closes = all.filter(({ appEnvId }) => !isOpen(access, appEnvId) && isOpen(before, appEnvId))
    const isSame = opens.length === 0 && closes.length === 0 && access.full === before.full
    return isSame ? [] : [{ member, access, opens, closes }]
  })
}

/** Environments that members lose when per-environment access is turned on; none for full access (M5). */
export function closedBySwitch(
  members: readonly Member[],
  all: readonly ListedEnvironment[],
): { member: Member; count: number }[] {
  return members.flatMap((member) => {
    const count = all.filter(({ appEnvId }) => !isOpen(accessOf(member), appEnvId)).length
    return count > 0 ? [{ member, count }] : []
  })
}
