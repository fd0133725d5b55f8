import type { StoredAlert } from '../../domain/alerts/alert.ts'
import type { UndoHandler } from '../audit/undo-handler.ts'
import { saveAlertChange } from './change-alert.ts'
import { ownContactPoints } from './contact-point-responses.ts'

export const undoAlert: UndoHandler<StoredAlert> = {
  fields: [
    'name',
    'description',
    'metric',
    'operator',
    'threshold',
    'duration',
    'aggregation',
    'queryRange',
    'contactPointIds',
    'enabled',
  ],
  async save(context, _target, current, draft) {
    // A contact point may have been deleted since.
    await ownContactPoints(context, draft.accountId, draft.contactPointIds)
    const { change, impact } = await saveAlertChange(context, current, draft)
    return { change, impact, effect: 'The next evaluation uses what was put back.' }
  },
}
