import type { Health } from '../../contract/health.ts'
import { percentOf } from '../../domain/diagnosis/errors.ts'
import type { Environment, Rollout, Settings } from '../../domain/environments/environment.ts'
import { healthOf } from '../../domain/environments/health.ts'
import { effectiveHealthCheck, hasHealthCheck } from '../../domain/environments/health-check.ts'
import { servesSince, servingOf } from '../../domain/environments/serving.ts'
import { AppError } from '../../errors.ts'
import { recentTrafficMs } from '../../metrics/source.ts'
import { findRollout, listPods } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { AfterRead, Context, Sources } from '../core/handler.ts'
import { evidenceMask } from '../diagnosis/evidence-mask.ts'

const podsRead = 50
const tailLines = 10
const longestLine = 200
/** The share of fewer requests is not meaningful. */
const leastRequests = 3

interface HealthRead {
  /** Null while the environment is not meant to run, and for jobs. */
  health: Health | null
  /** Adds requests of the last minute, and the end of the log of unhealthy environments. Runs after the transaction. */
  complete: ((after: AfterRead) => Promise<Health>) | null
}

/** The health of an environment, without the end of its log. */
export async function readHealth(
  context: Context,
  { environment, app }: EnvironmentTarget,
  current: Rollout | null,
): Promise<HealthRead> {
  if (app.isJob) return { health: null, complete: null }
  const { tx } = context
  const { appEnvId, wantedRolloutId } = environment
  const wanted = wantedRolloutId === null ? null : await findRollout(tx, wantedRolloutId)
  const serving = servingOf(environment, current, wanted)
  const health = healthOf({
    environment,
    isFunction: app.isFunction,
    serving,
    wanted,
    pods: await listPods(tx, appEnvId, podsRead),
    nowMs: Date.parse(context.now),
  })
  if (!health) return { health: null, complete: null }
  const { path } = effectiveHealthCheck(app, (serving ?? wanted)?.settings.healthCheck)
  const found: Health = { ...health, path, failedPercent: null, logTail: [] }
  const isWell = health.verdict === 'HEALTHY' || health.verdict === 'IDLE'
  const complete = async (after: AfterRead) => ({
    ...found,
    failedPercent:
      serving && hasHealthCheck(app) ? await readFailed(context, after.metrics, appEnvId, serving) : null,
    logTail: isWell || !serving ? [] : await logTail(context, after, environment, serving),
  })
  return { health: found, complete }
}

/** Share of failed requests to the serving version in the last minute, in percent; null without requests. */
async function readFailed(
  { now }: Context,
  metrics: Sources['metrics'],
  appEnvId: string,
  serving: Rollout,
): Promise<number | null> {
  const toMs = Date.parse(now)
  const fromMs = Math.max(toMs - recentTrafficMs, Date.parse(servesSince(serving)))
  const [counts] = await metrics.traffic([{ appEnvId, fromMs, toMs }])
  return counts && counts.requests >= leastRequests ? percentOf(counts) : null
}

/** The log is optional: the verdict does not depend on it. */
async function logTail(
  context: Context,
  after: AfterRead,
  environment: Environment,
  serving: Rollout,
): Promise<string[]> {
  const { appEnvId, saved, applied } = environment
  const settings: Settings[] = [saved, applied, serving.settings]
  const query = { type: 'RUNTIME' as const, contentId: serving.contentId, size: tailLines }
  try {
    const mask = await evidenceMask(context, after, environment, settings)
    const tail = await after.logs.read(appEnvId, query)
    return tail.logs.map(({ message }) => mask(message).slice(0, longestLine))
  } catch (error) {
    if (error instanceof AppError) return []
    throw error
  }
}
