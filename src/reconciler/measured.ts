import type { Autoscaling } from '../contract/app-envs.ts'
import { isRegularApp } from '../domain/presets.ts'
import type { Engine } from '../engines/engine.ts'
import type { EnvironmentView } from './environment-view.ts'
import { containerNameOf, type LivePod } from './live-pod.ts'

/** An environment whose containers run, as the sampler of metrics asks for it. */
export interface Measured {
  appEnvId: string
  /** Empty for functions: their CPU and memory are not collected (F9). */
  containers: {
    name: string
    engine: Engine
    cpuMillicores: number
    memoryMb: number
    startedAt: string | null
  }[]
  /** Containers that answer, functions too. */
  ready: number
  /** It answers through the gateway. */
  hasIngress: boolean
  /** Null unless it is a regular app with autoscaling on, in an account that allows it. */
  autoscaled: Autoscaled | null
}

export interface Autoscaled {
  autoscaling: Autoscaling
  /** Containers wished for. */
  containers: number
  zClouds: number
}

export function measuredOf(
  view: EnvironmentView,
  pods: readonly LivePod[],
  engineOf: (region: string) => Engine,
): Measured {
  const { environment, app } = view
  const ready = pods.filter((pod) => pod.state === 'ready' && !pod.removing)
  const running = app.isFunction ? [] : ready
  return {
    appEnvId: environment.appEnvId,
    containers: running.map(({ record }) => ({
      name: containerNameOf(record),
      engine: engineOf(record.region),
      cpuMillicores: record.cpuMillicores,
      memoryMb: record.memoryMb,
      startedAt: record.startedAt,
    })),
    ready: ready.length,
    hasIngress: app.isFunction || isRegularApp(app.dockerPreset),
    autoscaled: autoscaledOf(view),
  }
}

/** Not before a version serves: there would be nothing to measure. */
function autoscaledOf({ environment, app, account }: EnvironmentView): Autoscaled | null {
  const { autoscaling, saved, applied, status } = environment
  const serves = status === 'RUNNING' || status === 'UPDATING'
  if (!serves || !autoscaling.enabled || !isRegularApp(app.dockerPreset)) return null
  if (!account.settings.allowAutoScaling) return null
  return { autoscaling, containers: saved.containers, zClouds: applied.zClouds }
}
