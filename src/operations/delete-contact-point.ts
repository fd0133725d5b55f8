import { deleteContactPoint } from '../contract/contact-points.ts'
import { AppError } from '../errors.ts'
import { countAlertsUsing, removeContactPoint } from '../store/contact-points.ts'
import { contactPointChange } from './contact-point-answers.ts'
import { handler } from './handler.ts'

export default handler(deleteContactPoint, async ({ tx }, _input, { contactPoint }) => {
  const uses = await countAlertsUsing(tx, contactPoint.contactPointId)
  if (uses > 0) {
    throw new AppError('invalid', 'Contact point in use', {
      details: `${uses} alert(s) are using this contact point. Delete or update them first.`,
      rule: 'X2',
    })
  }
  await removeContactPoint(tx, contactPoint.contactPointId)
  return {
    answer: { message: `Contact point ${contactPoint.name} deleted` },
    change: contactPointChange(contactPoint, null),
    effects: [`Deletes the ${contactPoint.type} contact point ${contactPoint.name}. No alert uses it.`],
  }
})
