import { createContactPoint } from '../contract/contact-points.ts'
import type { StoredContactPoint } from '../domain/contact-point.ts'
import { newId } from '../domain/ids.ts'
import { insertContactPoint } from '../store/contact-points.ts'
import { contactPointAnswer, contactPointChange, sealedConfig } from './contact-point-answers.ts'
import { handler } from './handler.ts'

export default handler(createContactPoint, async (context, input, { account }) => {
  const contactPointId = newId('cp')
  const { name, type, config } = input
  const point: StoredContactPoint = {
    contactPointId,
    accountId: account.accountId,
    name,
    type,
    config: sealedConfig(context, { contactPointId, type, config: {} }, config),
    createdAt: context.now,
    updatedAt: context.now,
    revision: 1,
  }
  await insertContactPoint(context.tx, point)
  return {
    answer: {
      message: `Contact point ${name} created. test-contact-point sends it a test notice.`,
      contactPoint: contactPointAnswer(context, point),
    },
    change: contactPointChange(null, point),
    effects: [`Creates the ${type} contact point ${name}. Nothing is sent until an alert uses it.`],
  }
})
