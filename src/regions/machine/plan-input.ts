import type { PlanInput } from '../../domain/environments/plan-steps.ts'
import { oneAtATime } from '../../domain/environments/serving.ts'
import type { EnvironmentView } from '../rollouts/environment-view.ts'
import { holds, startable } from '../rollouts/volume-move.ts'
import { type LivePod, plannedPod } from './live-pod.ts'

interface Observed extends Pick<PlanInput, 'trial' | 'leaving' | 'mayStart'> {
  /** Containers the gateway requests for a function; null until its first report. */
  requested: number | null
  nowMs: number
}

/** The input of the plan of an environment. `pods`: without those being taken down. */
export function planInput(
  view: EnvironmentView,
  pods: readonly LivePod[],
  { requested, nowMs, ...observed }: Observed,
): PlanInput {
  const { environment, app, wanted, serving } = view
  return {
    ...observed,
    kind: kindOf(app),
    runs: environment.desiredState === 'running' && !holds(view),
    current: serving?.rollout.rolloutId ?? null,
    wanted: startable(view)?.rollout.rolloutId ?? null,
    desired: desiredContainers(view, pods, requested),
    oneAtATime: oneAtATime(environment, wanted?.rollout ?? null),
    pods: pods.map((pod) => plannedPod(pod, nowMs)),
  }
}

function desiredContainers(
  view: EnvironmentView,
  pods: readonly LivePod[],
  requested: number | null,
): number {
  const { app, environment, functionConfig, current, wanted, serving, warm } = view
  if (app.isDatabase) return (wanted ?? current)?.rollout.settings.containers ?? 1
  if (!functionConfig) return environment.applied.containers
  const present = pods.filter(
    ({ record, drained }) =>
      record.desiredState === 'run' && record.rolloutId === serving?.rollout.rolloutId && !drained,
  ).length
  return Math.min(functionConfig.maxScale, Math.max(warm, requested ?? present))
}

function kindOf(app: EnvironmentView['app']): PlanInput['kind'] {
  if (app.isFunction) return 'function'
  if (app.isDatabase) return 'database'
  return app.isJob ? 'none' : 'app'
}
