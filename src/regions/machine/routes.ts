import { healthSentence } from '../../contract/health-words.ts'
import { healthOf } from '../../domain/environments/health.ts'
import type { Address } from '../../engines/engine.ts'
import type { Route } from '../../gateway/control/protocol.ts'
import type { EnvironmentView } from '../rollouts/environment-view.ts'
import { holds } from '../rollouts/volume-move.ts'
import type { LivePod } from './live-pod.ts'

/** A ready container, as needed for the route. */
interface ServingPod {
  containerName: string
  address: Address
  rolloutId: string
  draining: boolean
}

/** The containers that may take requests: those of the serving rollout, and ending ones as draining. */
export function routeOf(
  view: EnvironmentView,
  serving: readonly ServingPod[],
  problem: string | null,
  host: string,
): Route {
  const { environment, app, functionConfig } = view
  const { desiredState, wantedRolloutId } = environment
  const current = view.serving?.rollout.rolloutId ?? null
  const isServing = desiredState === 'running' && current !== null
  const isDeploying = !isServing && desiredState === 'running' && wantedRolloutId !== null
  return {
    appEnvId: environment.appEnvId,
    envName: environment.cliEnvName,
    kind: app.isFunction ? 'function' : 'app',
    host,
    ...namesOf(view),
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
    ...(problem && { problem }),
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

function namesOf({ domains }: EnvironmentView): Pick<Route, 'domains' | 'secure'> {
  if (domains.length === 0) return {}
  const secured = domains.filter(({ hasCertificate }) => hasCertificate)
  return {
    domains: domains.map(({ domain }) => domain),
    ...(secured.length > 0 && {
      secure: Object.fromEntries(secured.map(({ domain, redirect, hsts }) => [domain, { redirect, hsts }])),
    }),
  }
}

/** Why no container takes requests. Null for a function whose next request may start one. */
export function problemOf(view: EnvironmentView, pods: readonly LivePod[], nowMs: number): string | null {
  const { environment, app, serving, wanted } = view
  if (holds(view)) return 'Its volume is being copied to another region. It starts there once that is done.'
  if (app.isFunction && !pods.some((pod) => pod.state === 'ready' && pod.unhealthy)) return null
  const health = healthOf({
    environment,
    isFunction: app.isFunction,
    serving: serving?.rollout ?? null,
    wanted: wanted?.rollout ?? null,
    pods: pods.map(({ record, unsaved }) => ({ ...record, ...unsaved?.change })),
    nowMs,
  })
  return health && healthSentence(health)
}
