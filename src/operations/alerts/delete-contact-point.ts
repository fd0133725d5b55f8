import { counted } from '../../amounts.ts'
import { deleteContactPoint } from '../../contract/contact-points.ts'
import { AppError } from '../../errors.ts'
import { countAlertsUsing, removeContactPoint } from '../../store/repositories/contact-points.ts'
import { handler } from '../core/handler.ts'
import { contactPointChange } from './contact-point-responses.ts'

export default handler(deleteContactPoint, async ({ tx, now }, _input, { contactPoint }) => {
  const uses = await countAlertsUsing(tx, contactPoint.contactPointId)
  if (uses > 0) {
    throw new AppError('invalid', 'Contact point in use', {
      details: `${uses} alert(s) are using this contact point. Delete or update them first.`,
      rule: 'X2',
    })
  }
  const due = await removeContactPoint(tx, contactPoint.contactPointId, now)
  return {
    answer: { message: `Contact point ${contactPoint.contactPointId} deleted` },
    change: contactPointChange(contactPoint, null),
    impact: { actions: ['delete-object'] },
    effects: [
      `Deletes the ${contactPoint.type} contact point ${contactPoint.contactPointId}. No alert uses it.`,
      ...(due === 0 ? [] : [`${counted(due, 'notification')} on the way to it will still be sent.`]),
    ],
  }
})
