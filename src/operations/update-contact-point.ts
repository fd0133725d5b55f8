import { updateContactPoint } from '../contract/contact-points.ts'
import type { StoredContactPoint } from '../domain/contact-point.ts'
import { countAlertsUsing, saveContactPoint } from '../store/contact-points.ts'
import { contactPointAnswer, contactPointChange, sealedConfig } from './contact-point-answers.ts'
import { handler } from './handler.ts'

/** The next notice uses what is saved here: notices read the contact point when they are sent. */
export default handler(updateContactPoint, async (context, input, { contactPoint: before }) => {
  const after: StoredContactPoint = {
    ...before,
    name: input.name ?? before.name,
    config: input.config ? sealedConfig(context, before, input.config) : before.config,
    updatedAt: context.now,
    revision: before.revision + 1,
  }
  await saveContactPoint(context.tx, after)
  const uses = await countAlertsUsing(context.tx, before.contactPointId)
  return {
    answer: {
      message: `Contact point ${after.name} updated; the next notice of its ${uses} alert(s) uses it.`,
      contactPoint: contactPointAnswer(context, after),
    },
    change: contactPointChange(before, after),
    effects: [`${uses} alert(s) send their next notices by the changed contact point.`],
  }
})
