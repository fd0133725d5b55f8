import type { GatewayEvents } from '../gateway/gateway-client.ts'
import { IngressCounter, type IngressState } from '../metrics/ingress-counter.ts'
import { type MeasuredEnvironment, Sampler } from '../metrics/sampler.ts'
import type { Platform } from '../platform.ts'
import { listAllEnvironmentIds } from '../store/environments.ts'

/** The measuring part of a running platform: gateway counters and container usage into the metric store. */
export interface Measuring {
  ingress: IngressCounter
  /** What the gateway link should call. */
  gatewayEvents: Pick<GatewayEvents, 'hello' | 'traffic' | 'down'>
  start(environments: () => readonly MeasuredEnvironment[]): void
  forget(appEnvId: string): Promise<void>
  stop(): void
}

/** Reads what was kept before a restart; measuring begins with `start`. */
export async function openMeasuring({ db, metrics, clock, log }: Platform): Promise<Measuring> {
  const known = new Set(await db.read((tx) => listAllEnvironmentIds(tx)))
  const ingress = new IngressCounter(metrics.periodMs)
  await metrics.open(
    (appEnvId) => known.has(appEnvId),
    (state, t) => {
      const agoMs = Math.max(0, clock.wallMs() - t)
      if (state) ingress.restore(state as IngressState, clock.monotonicMs() - agoMs)
    },
  )
  let sampler: Sampler | null = null
  return {
    ingress,
    gatewayEvents: {
      hello: ({ pid }) => ingress.hello(pid, clock.monotonicMs()),
      traffic: (samples) => ingress.traffic(samples),
      down: () => ingress.down(),
    },
    start(environments) {
      sampler = new Sampler({ clock, log, store: metrics, ingress, environments })
      sampler.start()
    },
    async forget(appEnvId) {
      ingress.forget(appEnvId)
      await metrics.forget(appEnvId)
    },
    stop: () => sampler?.stop(),
  }
}
