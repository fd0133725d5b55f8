import { getAccountUsage } from '../../contract/measurements.ts'
import { visibleEnvironments } from '../../domain/access/environment-access.ts'
import { secondsWithin } from '../../domain/environments/usage.ts'
import { AppError } from '../../errors.ts'
import { listRunsOfAccount } from '../../store/repositories/usage.ts'
import { handler } from '../core/handler.ts'

/** Runs are kept one by one for 35 days, so the range needs no hours. */
const longestRangeMs = 31 * 86_400_000

/** M2: a restricted member gets the sum of the environments that they can access. */
export default handler(getAccountUsage, async ({ tx, now }, input, { account, membership }) => {
  const { accountId } = account
  const nowMs = Date.parse(now)
  const toMs = input.to === undefined ? nowMs : Date.parse(input.to)
  const fromMs = Date.parse(input.from ?? `${now.slice(0, 10)}T00:00:00.000Z`)
  if (fromMs >= toMs || fromMs < nowMs - longestRangeMs) {
    throw new AppError('invalid', 'Invalid request', {
      details: 'from: must be before to, and at most 31 days ago',
    })
  }
  const only = visibleEnvironments(account, membership)
  const answer = { accountId, containerSeconds: 0, zCloudSeconds: 0, billedZCloudSeconds: 0 }
  for (const run of await listRunsOfAccount(tx, accountId, { fromMs, nowMs }, only)) {
    const seconds = secondsWithin(run, fromMs, toMs, nowMs)
    answer.containerSeconds += seconds
    answer.zCloudSeconds += seconds * run.zClouds
    answer.billedZCloudSeconds += seconds * run.zClouds * run.rateMultiplier
  }
  return { answer }
})
