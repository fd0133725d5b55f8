import { checkAccountSettings } from '../../domain/accounts/settings.ts'
import { type Account, updateAccount } from '../../store/repositories/accounts.ts'
import type { UndoHandler } from '../audit/undo-handler.ts'
import { accountImpact } from './impact.ts'

export const undoAccount: UndoHandler<Account> = {
  fields: ['name', 'settings'],
  async save({ tx }, _target, before, draft) {
    const after = { ...draft, revision: before.revision + 1 }
    checkAccountSettings(after.settings)
    await updateAccount(tx, after)
    const impact = await accountImpact(tx, before, after)
    const { accountId } = after
    return {
      change: { objectType: 'account', objectId: accountId, accountId, before, after },
      impact,
      wake: impact.environments ?? [],
      effect: 'Takes effect at once.',
    }
  },
}
