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
  /** It answers through the gateway. */
  hasIngress: boolean
}

export function measuredOf(
  view: EnvironmentView,
  pods: readonly LivePod[],
  engineOf: (region: string) => Engine,
): Measured {
  const { environment, app } = view
  const running = app.isFunction ? [] : pods.filter((pod) => pod.state === 'ready' && !pod.removing)
  return {
    appEnvId: environment.appEnvId,
    containers: running.map(({ record }) => ({
      name: containerNameOf(record),
      engine: engineOf(record.region),
      cpuMillicores: record.cpuMillicores,
      memoryMb: record.memoryMb,
      startedAt: record.startedAt,
    })),
    hasIngress: app.isFunction || isRegularApp(app.dockerPreset),
  }
}
