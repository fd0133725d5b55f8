import { AppError } from '../errors.ts'
import type { Account, Membership } from '../store/accounts.ts'
import type { Tx } from '../store/db.ts'
import { listEnvironmentIds } from '../store/environments.ts'

/** What is configured, whether or not the account enforces it now (M5). */
export function accessOf({ allowedAppEnvIds }: Membership): 'full' | 'restricted' {
  return allowedAppEnvIds.length > 0 ? 'restricted' : 'full'
}

export function envAccessAnswer(account: Account, member: Membership) {
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
 * The list to store, each id once. Ids of environments that were deleted since stay in a list that has them: a
 * list must never become empty, which means full access, because an environment went away.
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
  throw new AppError('invalid', 'App environments not of this account', {
    details: `Unknown: ${unknown.slice(0, 20).join(', ')}${unknown.length > 20 ? ' and others' : ''}. Nothing was changed. Send appEnvIds (env_…), not names; list-members with withAppEnvs shows all.`,
  })
}
