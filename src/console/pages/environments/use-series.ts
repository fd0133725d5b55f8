import { getAppEnvMetricsSeries } from '../../../contract/measurements.ts'
import type { Metric } from '../../../contract/metrics.ts'
import { everyMs, useRead } from '../../api/queries.ts'

/** Length and step of a chart, in seconds. */
const ranges = { hour: [3_600, 60], day: [86_400, 900], week: [604_800, 7_200] } as const
export type Range = keyof typeof ranges
export const rangeNames: Record<Range, string> = {
  hour: 'Last hour',
  day: 'Last 24 hours',
  week: 'Last 7 days',
}

/** Rounded to the step, so that the query does not change until the next point is due. */
export function windowOf(range: Range): { fromMs: number; toMs: number; stepSeconds: number } {
  const [seconds, step] = ranges[range]
  const fromMs = Math.floor(Date.now() / 1000 / step - seconds / step) * step * 1000
  return { fromMs, toMs: fromMs + (seconds + step) * 1000, stepSeconds: step }
}

/** The window of a chart, without the time before the environment existed. */
export function shownWindow(range: Range, createdAt: string): { fromMs: number; toMs: number } {
  const { fromMs, toMs } = windowOf(range)
  return { fromMs: Math.max(fromMs, Math.min(Date.parse(createdAt), toMs - 120_000)), toMs }
}

/** One metric of an environment over time. */
export function useSeries(appEnvId: string, metric: Metric, range: Range) {
  const { fromMs, stepSeconds: step } = windowOf(range)
  return useRead(
    getAppEnvMetricsSeries,
    { appEnvId, metric, from: new Date(fromMs).toISOString(), step },
    { everyMs: everyMs.chart, keep: true },
  )
}
