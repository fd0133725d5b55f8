import { counted } from '../../amounts.ts'
import { updateContactPoint } from '../../contract/contact-points.ts'
import type { StoredContactPoint } from '../../domain/alerts/contact-point.ts'
import { countAlertsUsing, saveContactPoint } from '../../store/repositories/contact-points.ts'
import { handler } from '../core/handler.ts'
import { contactPointChange, contactPointResponse, sealedConfig } from './contact-point-responses.ts'

/** Takes effect with the next notification, because delivery reads the contact point at sending time. */
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
      message: `Contact point ${after.contactPointId} updated; the next notifications of its ${counted(uses, 'alert')} use it.`,
      contactPoint: contactPointResponse(context, after),
    },
    change: contactPointChange(before, after),
    impact: {},
    effects: [`The next notifications of ${counted(uses, 'alert')} use the changed contact point.`],
  }
})
