import { getAppEnvHistory } from '../../contract/app-env-reads.ts'
import { listActivities } from '../../store/repositories/activities.ts'
import { handler } from '../core/handler.ts'

export default handler(getAppEnvHistory, async ({ tx }, input, { environment }) => {
  const { limit, offset } = input
  const { activities, total } = await listActivities(tx, environment.appEnvId, {
    limit,
    offset,
    from: input.fromDate ? new Date(input.fromDate).toISOString() : null,
    to: input.toDate ? new Date(input.toDate).toISOString() : null,
  })
  const pagination = { limit, offset, total, hasMore: offset + activities.length < total }
  return { answer: { appEnvId: environment.appEnvId, activities, pagination } }
})
