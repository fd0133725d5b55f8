import { type AccountSettings, settingNames, updateAccount } from '../../contract/accounts.ts'
import type { InputOf } from '../../contract/operation.ts'
import { changedSettings } from '../../domain/accounts/settings.ts'
import { AppError } from '../../errors.ts'
import { type Account, updateAccount as saveAccount } from '../../store/repositories/accounts.ts'
import { ownAccessRestricted } from '../access/member-access.ts'
import { handler } from '../core/handler.ts'
import { accountImpact } from './impact.ts'

/** M5, M8: turning per-environment access on or off keeps all saved lists; only their enforcement changes. */
export default handler(updateAccount, async ({ tx, caller }, input, { account, membership }) => {
  const wanted = wantedSettings(input)
  if (wanted.reauthenticateSeconds !== undefined && caller.actor !== 'person') {
    throw new AppError('forbidden', 'Only people may do this', {
      details: 'reauthenticateSeconds protects what people do. Ask an admin of the account.',
      rule: 'people-only',
    })
  }
  const onlyAccess =
    input.name === undefined && Object.keys(wanted).every((name) => name === 'memberEnvAccessEnabled')
  if (!membership.admin && !onlyAccess) {
    throw new AppError('forbidden', 'Admin permission required', {
      details: 'Manage Members may change memberEnvAccessEnabled only. Ask an admin of the account.',
      rule: 'M8',
    })
  }
  const isUnrestricted = membership.admin || membership.allowedAppEnvIds.length === 0
  if (wanted.memberEnvAccessEnabled === false && account.settings.memberEnvAccessEnabled && !isUnrestricted)
    throw ownAccessRestricted(
      'Turning memberEnvAccessEnabled off gives every member full access, you too. Ask an admin of the account.',
    )
  if (input.name === undefined && Object.keys(wanted).length === 0) {
    throw new AppError('invalid', 'Nothing to change', { details: 'Send name or at least one setting.' })
  }
  const { settings, followed } = changedSettings(account.settings, wanted)
  const draft: Account = {
    ...account,
    name: input.name ?? account.name,
    settings,
    revision: account.revision + 1,
  }
  await saveAccount(tx, draft)
  const impact = await accountImpact(tx, account, draft)
  const { accountId, name, slug, revision } = draft
  const { admin, manageMembers } = membership
  return {
    answer: {
      message: 'Account updated',
      account: { accountId, name, slug, permissions: { admin, manageMembers }, settings, revision },
    },
    change: { objectType: 'account', objectId: accountId, accountId, before: account, after: draft },
    impact,
    wake: impact.environments ?? [],
    effects: [
      ...effectsOf(account.settings, settings),
      ...followed.map((name) => `${name} follows the new limit: ${settings[name]}.`),
    ],
  }
})

/** Top-level settings win over the nested ones. */
function wantedSettings(input: InputOf<typeof updateAccount>): Partial<AccountSettings> {
  const wanted: Record<string, unknown> = {}
  for (const name of settingNames) {
    const value = input[name] ?? input.settings?.[name]
    if (value !== undefined) wanted[name] = value
  }
  return wanted as Partial<AccountSettings>
}

function effectsOf(before: AccountSettings, after: AccountSettings): string[] {
  if (before.memberEnvAccessEnabled === after.memberEnvAccessEnabled) return ['Takes effect immediately.']
  return [
    after.memberEnvAccessEnabled
      ? 'Saved lists of environments are enforced immediately; members without a list keep full access.'
      : 'Every member gets full access immediately; saved lists are kept and enforced again when it is turned on.',
  ]
}
