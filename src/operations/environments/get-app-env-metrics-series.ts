import { timestamp } from '../../clock.ts'
import { getAppEnvMetricsSeries } from '../../contract/measurements.ts'
import { metricUnits } from '../../contract/metrics.ts'
import { checkMetric } from '../../domain/alerts/alert.ts'
import { AppError } from '../../errors.ts'
import { handler } from '../core/handler.ts'

const defaultRangeMs = 3_600_000
const defaultPoints = 360
const mostPoints = 2_500

/** Steps are aligned to multiples of `step` since the epoch, so that repeated reads return the same points. */
export default handler(getAppEnvMetricsSeries, async ({ now, metrics }, input, { environment, app }) => {
  const { metric } = input
  checkMetric(metric, app)
  const toMs = input.to === undefined ? Date.parse(now) : Date.parse(input.to)
  const fromMs = input.from === undefined ? toMs - defaultRangeMs : Date.parse(input.from)
  if (fromMs >= toMs) {
    throw new AppError('invalid', 'from must be before to', { details: 'Both are ISO 8601 times.' })
  }
  const { periodMs } = metrics
  const wantedMs = input.step === undefined ? (toMs - fromMs) / defaultPoints : input.step * 1_000
  const stepMs = Math.max(1, Math.ceil(wantedMs / periodMs)) * periodMs
  const count = Math.ceil((toMs - fromMs) / stepMs)
  if (count > mostPoints) {
    throw new AppError('invalid', `The range has ${count} points`, {
      details: `At most ${mostPoints} are returned. Set step to ${Math.ceil((toMs - fromMs) / mostPoints / 1_000)} or more, or narrow from and to.`,
    })
  }
  const firstMs = Math.floor(fromMs / stepMs) * stepMs
  const points = await metrics.series({
    appEnvId: environment.appEnvId,
    metric,
    fromMs: firstMs,
    toMs,
    stepMs,
  })
  return {
    answer: {
      appEnvId: environment.appEnvId,
      metric,
      unit: metricUnits[metric],
      points: points.map(({ t, value, min, max, last }) => ({
        t: timestamp(t),
        value: rounded(value),
        min: rounded(min),
        max: rounded(max),
        last: rounded(last),
      })),
    },
  }
})

function rounded(value: number): number {
  return Number(value.toPrecision(6))
}
