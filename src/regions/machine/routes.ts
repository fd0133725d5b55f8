import type { Address } from '../../engines/engine.ts'
import type { Route } from '../../gateway/control/protocol.ts'
import type { EnvironmentView } from './environment-view.ts'

/** A ready container, as needed for the route. */
interface ServingPod {
  containerName: string
  address: Address
  rolloutId: string
  draining: boolean
}

/** The containers that may take requests: those of the serving rollout, and ending ones as draining. */
export function routeOf(view: EnvironmentView, serving: readonly ServingPod[]): Route {
  const { environment, app, functionConfig } = view
  const { currentRolloutId: current, desiredState, status, wantedRolloutId } = environment
  const isServing = desiredState === 'running' && current !== null && status !== 'PENDING'
  const isDeploying = !isServing && desiredState === 'running' && wantedRolloutId !== null
  return {
    appEnvId: environment.appEnvId,
    envName: environment.cliEnvName,
    kind: app.isFunction ? 'function' : 'app',
    state: isServing ? 'serving' : 'stopped',
    ...(isDeploying ? { deploying: true as const } : {}),
    ...(view.firstFailure === null ? {} : { failure: view.firstFailure }),
    containers: serving
      .filter((pod) => pod.draining || pod.rolloutId === current)
      .map((pod) => ({
        name: pod.containerName,
        host: pod.address.host,
        port: pod.address.port,
        draining: pod.draining,
      })),
    scaling: functionConfig && {
      containerConcurrency: functionConfig.containerConcurrency,
      timeoutSeconds: functionConfig.timeoutSeconds,
      responseStartTimeoutSeconds: functionConfig.responseStartTimeoutSeconds,
      idleTimeoutSeconds: functionConfig.idleTimeoutSeconds,
      minScale: view.warm,
      maxScale: functionConfig.maxScale,
    },
  }
}
