import { getAppEnvUsage } from '../../contract/measurements.ts'
import {
  diskUsage,
  floorHour,
  functionRateMultiplier,
  mergeHours,
  usageByHour,
} from '../../domain/environments/usage.ts'
import { AppError } from '../../errors.ts'
import { listRuns, listUsageHours } from '../../store/repositories/usage.ts'
import { handler } from '../core/handler.ts'

const longestRangeMs = 400 * 86_400_000

/**
 * Exact to the second for 35 days; older ranges count whole hours (docs/interface.md#billing, F1, F4). The time before
 * the creation of the environment does not count towards the longest range.
 */
export default handler(getAppEnvUsage, async ({ tx, now }, input, { environment, app }) => {
  const nowMs = Date.parse(now)
  const toMs = input.to === undefined ? nowMs : Date.parse(input.to)
  const fromMs = input.from === undefined ? startOfMonth(toMs) : Date.parse(input.from)
  checkRange(fromMs, toMs, Date.parse(environment.createdAt))
  const runs = await listRuns(tx, environment.appEnvId, { fromMs, nowMs })
  const folded = await listUsageHours(tx, environment.appEnvId, { fromMs: floorHour(fromMs), toMs })
  const hours = mergeHours(usageByHour(runs, { fromMs, toMs, nowMs }), folded)
  const sum = (of: 'containerSeconds' | 'zCloudSeconds' | 'billedZCloudSeconds') =>
    hours.reduce((total, hour) => total + hour[of], 0)
  const { zClouds, disk } = environment.applied
  const diskMb = app.isDatabase ? disk : 0
  return {
    answer: {
      appEnvId: environment.appEnvId,
      rateMultiplier: app.isFunction ? functionRateMultiplier : 1,
      containerSeconds: sum('containerSeconds'),
      zCloudSeconds: sum('zCloudSeconds'),
      billedZCloudSeconds: sum('billedZCloudSeconds'),
      diskMb,
      ...diskUsage(zClouds, diskMb, app.isDatabase),
      hours: hours.map(({ hourMs, ...usage }) => ({ hour: new Date(hourMs).toISOString(), ...usage })),
    },
  }
})

function checkRange(fromMs: number, toMs: number, createdMs: number): void {
  if (fromMs >= toMs)
    throw new AppError('invalid', 'from must be before to', { details: 'Both are ISO 8601 times.' })
  if (toMs - Math.max(fromMs, createdMs) > longestRangeMs) {
    throw new AppError('invalid', 'The range is longer than 400 days', {
      details: 'Request a year or less at a time.',
    })
  }
}

function startOfMonth(ms: number): number {
  const date = new Date(ms)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1)
}
