import type { GatewayEvents } from '../gateway/gateway-client.ts'
import { IngressCounter, type IngressState } from '../metrics/ingress-counter.ts'
import { Sampler } from '../metrics/sampler.ts'
import type { Platform } from '../platform.ts'
import { AppAutoscaler } from '../reconciler/app-autoscaler.ts'
import type { Reconciler } from '../reconciler/reconciler.ts'
import { listAllEnvironmentIds } from '../store/environments.ts'
import { PlatformMetrics } from './platform-metrics.ts'

/** The measuring part of a running platform: gateway counters and container usage into the metric store. */
export interface Measuring {
  ingress: IngressCounter
  /** Figures of the platform itself. */
  figures: PlatformMetrics
  /** What the gateway link should call. */
  gatewayEvents: Pick<GatewayEvents, 'hello' | 'traffic' | 'down'>
  /** Begins to sample and, on what is sampled, to scale regular apps. */
  start(reconciler: Pick<Reconciler, 'measured' | 'wake'>): void
  forget(appEnvId: string): Promise<void>
  stop(): void
}

/** Reads what was kept before a restart; measuring begins with `start`. */
export async function openMeasuring({ db, metrics, clock, log, config }: Platform): Promise<Measuring> {
  const known = new Set(await db.read((tx) => listAllEnvironmentIds(tx)))
  const ingress = new IngressCounter(metrics.periodMs)
  await metrics.open(
    (appEnvId) => known.has(appEnvId),
    (state, t) => {
      const agoMs = Math.max(0, clock.wallMs() - t)
      if (state) ingress.restore(state as IngressState, clock.monotonicMs() - agoMs)
    },
  )
  const figures = new PlatformMetrics()
  let sampler: Sampler | null = null
  let autoscaler: AppAutoscaler | null = null
  return {
    ingress,
    figures,
    gatewayEvents: {
      hello: ({ pid }) => ingress.hello(pid, clock.monotonicMs()),
      traffic: (samples) => ingress.traffic(samples),
      down: () => ingress.down(),
    },
    start(reconciler) {
      const environments = () => reconciler.measured()
      sampler = new Sampler({ clock, log, store: metrics, ingress, environments })
      sampler.start()
      autoscaler = new AppAutoscaler({
        db,
        clock,
        log,
        metrics,
        clockScale: config.clockScale,
        environments,
        wake: (appEnvIds) => reconciler.wake(appEnvIds),
      })
      autoscaler.start()
    },
    async forget(appEnvId) {
      ingress.forget(appEnvId)
      figures.forget(appEnvId)
      await metrics.forget(appEnvId)
    },
    stop() {
      sampler?.stop()
      autoscaler?.stop()
      figures.close()
    },
  }
}
