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
