import { accountSettings, createAccount } from '../../contract/accounts.ts'
import { slugOf } from '../../domain/environments/names.ts'
import { newId } from '../../domain/ids.ts'
import { insertAccount, insertMembership } from '../../store/repositories/accounts.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(createAccount, async ({ tx, now, caller, installation }, input) => {
  const accountId = newId('acc')
  const account = {
    accountId,
    name: input.name,
    slug: slugOf(input.name, 'account'),
    settings: accountSettings.parse(installation.defaultAccountSettings),
    revision: 1,
    createdAt: now,
  }
  await insertAccount(tx, account)
  await insertMembership(
    tx,
    {
      membershipId: newId('mem'),
      accountId,
      userId: userOf(caller),
      admin: true,
      manageMembers: true,
      allowedAppEnvIds: [],
      revision: 1,
      invitation: null,
    },
    now,
  )
  return {
    answer: { accountId },
    change: { objectType: 'account', objectId: accountId, accountId, before: null, after: account },
    impact: { actions: ['create-object'] },
    effects: [`Creates the account ${input.name}, with you as its admin.`],
  }
})
