import type { StoredContactPoint } from '../../domain/alerts/contact-point.ts'
import { AppError } from '../../errors.ts'
import { saveContactPoint } from '../../store/repositories/contact-points.ts'
import type { UndoHandler } from '../audit/undo-handler.ts'
import { contactPointChange } from './contact-point-responses.ts'

export const undoContactPoint: UndoHandler<StoredContactPoint> = {
  fields: ['name', 'config'],
  async save({ tx, now }, _target, before, draft) {
    const { url, password } = before.config
    if (draft.config.url !== url && password !== undefined && draft.config.password === password) {
      throw new AppError('invalid', 'The password is needed again', {
        details:
          'This undo would send the present password to another address. Use update-contact-point with both.',
      })
    }
    const after = { ...draft, revision: before.revision + 1, updatedAt: now }
    await saveContactPoint(tx, after)
    return {
      change: contactPointChange(before, after),
      impact: {},
      effect: 'The next notification is sent as before.',
    }
  },
}
