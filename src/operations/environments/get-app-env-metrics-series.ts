import { timestamp } from '../../clock.ts'
import { getAppEnvMetricsSeries } from '../../contract/measurements.ts'
import { metricUnits } from '../../contract/metrics.ts'
import { metricViolation } from '../../contract/rules.ts'
import { AppError, rejectViolation } from '../../errors.ts'
import type { MetricPoint } from '../../metrics/source.ts'
import { handler } from '../core/handler.ts'

const defaultRangeMs = 3_600_000
const defaultPoints = 360
const mostPoints = 2_500

/** Steps are aligned to multiples of `step` since the epoch, so that repeated reads return the same points. */
export default handler(getAppEnvMetricsSeries, async ({ now }, input, { environment, app }) => {
  const { metric } = input
  rejectViolation(metricViolation(metric, app))
  const { appEnvId } = environment
  const unit = metricUnits[metric]
  const toMs = input.to === undefined ? Date.parse(now) : Date.parse(input.to)
  const fromMs = input.from === undefined ? toMs - defaultRangeMs : Date.parse(input.from)
  if (fromMs >= toMs) {
    throw new AppError('invalid', 'from must be before to', { details: 'Both are ISO 8601 times.' })
  }
  return {
    answer: { appEnvId, metric, unit, points: [] },
    afterRead: async (_answer, { metrics }) => {
      const stepMs = stepOf({ fromMs, toMs, step: input.step }, metrics.periodMs)
      const firstMs = Math.floor(fromMs / stepMs) * stepMs
      const points = await metrics.series({ appEnvId, metric, fromMs: firstMs, toMs, stepMs })
      return { appEnvId, metric, unit, points: points.map(shownPoint) }
    },
  }
})

/** A multiple of the sampling period; throws `invalid` if the range would have too many points. */
function stepOf(
  { fromMs, toMs, step }: { fromMs: number; toMs: number; step: number | undefined },
  periodMs: number,
): number {
  const wantedMs = step === undefined ? (toMs - fromMs) / defaultPoints : step * 1_000
  const stepMs = Math.max(1, Math.ceil(wantedMs / periodMs)) * periodMs
  const count = Math.ceil((toMs - fromMs) / stepMs)
  if (count <= mostPoints) return stepMs
  throw new AppError('invalid', `The range has ${count} points`, {
    details: `At most ${mostPoints} are returned. Set step to ${Math.ceil((toMs - fromMs) / mostPoints / 1_000)} or more, or narrow from and to.`,
  })
}

function shownPoint({ t, value, min, max, last }: MetricPoint) {
  return {
    t: timestamp(t),
    value: rounded(value),
    min: rounded(min),
    max: rounded(max),
    last: rounded(last),
  }
}

function rounded(value: number): number {
  return Number(value.toPrecision(6))
}
