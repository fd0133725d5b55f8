import type { Autoscaling } from '../../contract/app-envs.ts'
import { isRegularApp } from '../../domain/apps/presets.ts'
import type { Engine } from '../../engines/engine.ts'
import { containerNameOf } from '../rollouts/container-spec.ts'
import type { EnvironmentView } from '../rollouts/environment-view.ts'
import type { LivePod } from './live-pod.ts'

/** An environment with running containers, as input of the metrics sampler. */
export interface MetricTarget {
  appEnvId: string
  /** False while stopped: then only requests that the gateway rejected are sampled. */
  runs: boolean
  /** Empty for functions: their CPU and memory are not collected (F9). */
  containers: {
    name: string
    engine: Engine
    cpuMillicores: number
    memoryMb: number
    startedAt: string | null
  }[]
  /** Number of ready containers, for functions too. */
  ready: number
  /** It receives requests through the gateway. */
  hasIngress: boolean
  /** Null unless it is a regular app with autoscaling on, in an account that allows it. */
  autoscaled: Autoscaled | null
}

export interface Autoscaled {
  autoscaling: Autoscaling
  /** Desired containers. */
  containers: number
  zClouds: number
}

export function metricTargetOf(
  view: EnvironmentView,
  pods: readonly LivePod[],
  engineOf: (region: string) => Engine,
): MetricTarget {
  const { environment, app } = view
  const runs = environment.desiredState === 'running'
  const ready = runs ? pods.filter((pod) => pod.state === 'ready' && !pod.removing) : []
  const running = app.isFunction ? [] : ready
  return {
    appEnvId: environment.appEnvId,
    runs,
    containers: running.map(({ record }) => ({
      name: containerNameOf(record),
      engine: engineOf(record.region),
      cpuMillicores: record.cpuMillicores,
      memoryMb: record.memoryMb,
      startedAt: record.startedAt,
    })),
    ready: ready.length,
    hasIngress: app.isFunction || isRegularApp(app.dockerPreset),
    autoscaled: runs ? autoscaledOf(view) : null,
  }
}

/** Null until a version serves. */
function autoscaledOf({ environment, app, account }: EnvironmentView): Autoscaled | null {
  const { autoscaling, saved, applied, status } = environment
  const serves = status === 'RUNNING' || status === 'UPDATING'
  if (!serves || !autoscaling.enabled || !isRegularApp(app.dockerPreset)) return null
  if (!account.settings.allowAutoScaling) return null
  return { autoscaling, containers: saved.containers, zClouds: applied.zClouds }
}
