import { timestamp } from '../../clock.ts'
import { whatChanged } from '../../contract/diagnosis.ts'
import { isIngressMetric } from '../../contract/metrics.ts'
import { type Break, breakOf, rankChanges, watchedMetrics } from '../../domain/diagnosis/changes.ts'
import { AppError } from '../../errors.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { handler, type Sources } from '../core/handler.ts'
import { alertBreak, readChanges } from './read-changes.ts'

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
  const changes = await readChanges(context, target, range)
  const alerted = await alertBreak(context, target, range)
  const answerWith = (broke: Break | null) => ({
    appEnvId: target.environment.appEnvId,
    ...range,
    broke,
    changes: rankChanges(changes, broke).slice(0, mostChanges),
    truncated: changes.length > mostChanges,
  })
  return {
    answer: answerWith(alerted),
    afterRead: async (_answer, sources) =>
      answerWith((await metricBreak(sources, target, fromMs, toMs)) ?? alerted),
  }
})

/** The first of the watched metrics that broke. */
async function metricBreak(
  { metrics }: Sources,
  { environment, app }: EnvironmentTarget,
  fromMs: number,
  toMs: number,
): Promise<Break | null> {
  const { appEnvId } = environment
  const { periodMs } = metrics
  const stepMs = Math.max(1, Math.ceil((toMs - fromMs) / metricPoints / periodMs)) * periodMs
  for (const { metric, leastRise } of watchedMetrics) {
    const collected = isIngressMetric(metric) ? !app.isDatabase && !app.isJob : !app.isFunction
    if (!collected) continue
    const points = await metrics.series({ appEnvId, metric, fromMs, toMs, stepMs })
    const found = breakOf(metric, points, leastRise)
    if (found) return found
  }
  return null
}
