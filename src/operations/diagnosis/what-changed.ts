import { timestamp } from '../../clock.ts'
import { whatChanged } from '../../contract/diagnosis.ts'
import { isIngressMetric } from '../../contract/metrics.ts'
import {
  type Break,
  breakOf,
  burstOf,
  newestEpisode,
  rankChanges,
  watchedMetrics,
} from '../../domain/diagnosis/changes.ts'
import { AppError } from '../../errors.ts'
import type { MetricPoint, SeriesQuery } from '../../metrics/source.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { handler, type Sources } from '../core/handler.ts'
import { alertBreak, readChanges, withNames } from './read-changes.ts'

const dayMs = 86_400_000
const metricPoints = 288
const mostChanges = 200

/** Everything that happened to an environment in one timeline, newest first. */
export default handler(whatChanged, async (context, input, target) => {
  const toMs = Date.parse(input.to ?? context.now)
  const fromMs = input.from === undefined ? toMs - dayMs : Date.parse(input.from)
  if (fromMs >= toMs) {
    throw new AppError('invalid', 'from must be before to', { details: 'Both are ISO 8601 times.' })
  }
  const range = { from: timestamp(fromMs), to: timestamp(toMs) }
  const changes = await withNames(context, target, await readChanges(context, target, range))
  const alerted = await alertBreak(context, target, range)
  const answerWith = (broke: Break | null) => ({
    appEnvId: target.environment.appEnvId,
    ...range,
    broke: broke && shownBreak(broke),
    changes: rankChanges(changes, broke).slice(0, mostChanges),
    truncated: changes.length > mostChanges,
  })
  return {
    answer: answerWith(alerted),
    afterRead: async (_answer, sources) =>
      answerWith(newer(await metricBreak(sources, target, fromMs, toMs), alerted)),
  }
})

function shownBreak({ until: _, ...broke }: Break) {
  return broke
}

/** A metric shows when it began; an alert that fired after the metric had recovered is another episode. */
function newer(metric: Break | null, alerted: Break | null): Break | null {
  if (!metric || !alerted) return metric ?? alerted
  return metric.until && alerted.at > metric.until ? alerted : metric
}

/** The newest break of the watched metrics. */
async function metricBreak(
  { metrics }: Sources,
  { environment, app }: EnvironmentTarget,
  beginMs: number,
  toMs: number,
): Promise<Break | null> {
  const { appEnvId, createdAt } = environment
  const { periodMs } = metrics
  // With long steps, a young environment has too few points to show its usual level.
  const fromMs = Math.max(beginMs, Date.parse(createdAt))
  if (fromMs >= toMs) return null
  const stepMs = Math.max(1, Math.ceil((toMs - fromMs) / metricPoints / periodMs)) * periodMs
  const breaks: Break[] = []
  for (const { metric, leastRise } of watchedMetrics) {
    const collected = isIngressMetric(metric) ? !app.isDatabase && !app.isJob : !app.isFunction
    if (!collected) continue
    const points = await metrics.series({ appEnvId, metric, fromMs, toMs, stepMs })
    const lasting = breakOf(metric, points, leastRise)
    const found =
      metric === 'ingress_5xx_percent'
        ? later(lasting, await burst(metrics, { appEnvId, fromMs, toMs, stepMs }, points, leastRise))
        : lasting
    if (found) breaks.push(found)
  }
  const found = newestEpisode(breaks)
  return found && exactly(metrics, appEnvId, found, stepMs)
}

/** A rise of failed requests that ended before the next point. */
async function burst(
  metrics: Sources['metrics'],
  range: Omit<SeriesQuery, 'metric'>,
  percents: readonly MetricPoint[],
  leastRise: number,
): Promise<Break | null> {
  const rates = new Map(
    (await metrics.series({ ...range, metric: 'ingress_5xx_rate' })).map(({ t, value }) => [t, value]),
  )
  const points = percents.map(({ t, value, max }) => {
    // Samples are a little longer or shorter than their period.
    const failures = Math.round(((rates.get(t) ?? 0) * range.stepMs) / 1_000)
    return { t, value, max, failures }
  })
  return burstOf('ingress_5xx_percent', points, leastRise)
}

function later(one: Break | null, other: Break | null): Break | null {
  if (!one || !other) return one ?? other
  return one.at > other.at ? one : other
}

/** The sample in which it broke: a step of a long range is minutes long, and changes within it differ. */
async function exactly(
  metrics: Sources['metrics'],
  appEnvId: string,
  found: Break,
  stepMs: number,
): Promise<Break> {
  const { periodMs } = metrics
  if (stepMs <= periodMs) return found
  const toMs = Date.parse(found.at)
  const range = { appEnvId, metric: found.metric, fromMs: toMs - stepMs, toMs, stepMs: periodMs }
  const limit = (found.before + found.after) / 2
  const first = (await metrics.series(range)).find(({ value }) => value >= limit)
  return first ? { ...found, at: timestamp(first.t) } : found
}
