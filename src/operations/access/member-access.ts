import { listed } from '../../amounts.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import type { Account, Membership } from '../../store/repositories/accounts.ts'
import { listEnvironmentIds } from '../../store/repositories/environments.ts'

/** The configured access, even if the account does not enforce it now (M5). */
export function accessOf({ allowedAppEnvIds }: Membership): 'full' | 'restricted' {
  return allowedAppEnvIds.length > 0 ? 'restricted' : 'full'
}

export function envAccessResponse(account: Account, member: Membership) {
  const { membershipId, allowedAppEnvIds, revision } = member
  return {
    accountId: account.accountId,
    membershipId,
    enabled: account.settings.memberEnvAccessEnabled,
    access: accessOf(member),
    allowedAppEnvIds,
    revision,
  }
}

/**
 * The list to store, without duplicates. Ids of deleted environments stay in a list that has them: otherwise a
 * deletion could empty the list, and an empty list grants full access.
 */
export async function checkedAppEnvIds(
  tx: Tx,
  account: Account,
  wanted: readonly string[],
  kept: readonly string[] = [],
): Promise<string[]> {
  const ids = [...new Set(wanted)]
  if (ids.length === 0) return []
  const environments = await listEnvironmentIds(tx, { accountId: account.accountId })
  const known = new Set([...environments.map(({ appEnvId }) => appEnvId), ...kept])
  const unknown = ids.filter((id) => !known.has(id))
  if (unknown.length === 0) return ids
  throw new AppError('invalid', 'Some appEnvIds are not in this account', {
    details: `Unknown: ${listed(unknown)}. Nothing was changed. Send appEnvIds (env_…), not names; list-members with withAppEnvs shows all.`,
  })
}

/**
 * A caller cannot grant what they lack: a manager with a list of environments passes on only those of the list, also to
 * themselves, and only admins configure everything (M6). `before` is the list until now, null for a new member. The list
 * counts while per-environment access is off, too: it takes effect when that is turned on.
 */
export function requireGrantable(
  granter: Membership,
  before: readonly string[] | null,
  after: readonly string[],
): void {
  const own = granter.allowedAppEnvIds
  if (granter.admin || own.length === 0 || before?.length === 0) return
  const beyond = after.filter((id) => !own.includes(id) && !before?.includes(id))
  if (after.length > 0 && beyond.length === 0) return
  throw ownAccessRestricted(
    after.length === 0
      ? 'Full access is more than your own. Send appEnvIds of your own list, or ask an admin of the account.'
      : `Not on your own list: ${listed(beyond)}. Nothing was changed; ask an admin of the account.`,
  )
}

export function ownAccessRestricted(details: string): AppError {
  return new AppError('forbidden', 'Your own access is restricted', { details, rule: 'M8' })
}
