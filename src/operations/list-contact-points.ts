import { listContactPoints } from '../contract/contact-points.ts'
import { listContactPointsOf } from '../store/contact-points.ts'
import { contactPointAnswer } from './contact-point-answers.ts'
import { handler } from './handler.ts'

export default handler(listContactPoints, async (context, _input, { account }) => {
  const points = await listContactPointsOf(context.tx, { accountId: account.accountId })
  return { answer: { contactPoints: points.map((point) => contactPointAnswer(context, point)) } }
})
