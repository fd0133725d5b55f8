import { listContactPoints } from '../../contract/contact-points.ts'
import { listContactPointsOf } from '../../store/repositories/contact-points.ts'
import { handler } from '../core/handler.ts'
import { contactPointResponse } from './contact-point-responses.ts'

export default handler(listContactPoints, async (context, _input, { account }) => {
  const points = await listContactPointsOf(context.tx, { accountId: account.accountId })
  return { answer: { contactPoints: points.map((point) => contactPointResponse(context, point)) } }
})
