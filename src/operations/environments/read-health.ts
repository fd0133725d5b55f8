import type { Health } from '../../contract/health.ts'
import type { Environment, Rollout, Settings } from '../../domain/environments/environment.ts'
import { healthOf } from '../../domain/environments/health.ts'
import { servingOf } from '../../domain/environments/serving.ts'
import { AppError } from '../../errors.ts'
import { findRollout, listPods } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context, Sources } from '../core/handler.ts'
import { evidenceMask } from '../diagnosis/evidence-mask.ts'

const podsRead = 50
const tailLines = 10
const longestLine = 200

interface HealthRead {
  /** Null while the environment is not meant to run, and for jobs. */
  health: Health | null
  /** Reads the end of the log of what is not well; null if there is none. For after the transaction. */
  logTail: ((sources: Sources) => Promise<string[]>) | null
}

/** The health of an environment, without the end of its log. */
export async function readHealth(
  context: Context,
  { environment, app }: EnvironmentTarget,
  current: Rollout | null,
): Promise<HealthRead> {
  if (app.isJob) return { health: null, logTail: null }
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
  if (!health) return { health: null, logTail: null }
  const isWell = health.verdict === 'HEALTHY' || health.verdict === 'IDLE'
  return {
    health: { ...health, logTail: [] },
    logTail: isWell || !serving ? null : ({ logs }) => logTail(context, logs, environment, serving),
  }
}

/** The log is optional: the verdict does not depend on it. */
async function logTail(
  context: Context,
  logs: Sources['logs'],
  environment: Environment,
  serving: Rollout,
): Promise<string[]> {
  const { appEnvId, saved, applied } = environment
  const settings: Settings[] = [saved, applied, serving.settings]
  const query = { type: 'RUNTIME' as const, contentId: serving.contentId, size: tailLines }
  try {
    const mask = evidenceMask(context, environment, settings)
    const tail = await logs.read(appEnvId, query)
    return tail.logs.map(({ message }) => mask(message).slice(0, longestLine))
  } catch (error) {
    if (error instanceof AppError) return []
    throw error
  }
}
