import { counted } from '../../amounts.ts'
import { type Membership, updateMembership } from '../../store/repositories/accounts.ts'
import type { UndoHandler } from '../audit/undo-handler.ts'

export const undoMembership: UndoHandler<Membership> = {
  fields: ['allowedAppEnvIds'],
  async save({ tx }, _target, before, draft) {
    const after = { ...draft, revision: before.revision + 1 }
    await updateMembership(tx, after)
    const { membershipId, accountId, allowedAppEnvIds } = after
    const ids = allowedAppEnvIds.length
    return {
      change: { objectType: 'membership', objectId: membershipId, accountId, before, after },
      impact: { actions: ['change-access'] },
      effect:
        ids === 0
          ? 'The member has FULL access again.'
          : `The member may reach ${counted(ids, 'environment')}.`,
    }
  },
}
