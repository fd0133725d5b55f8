import type { GatewayEvents } from '../../gateway/control/client.ts'
import { IngressCounter, type IngressState } from '../../metrics/ingress-counter.ts'
import { Sampler } from '../../metrics/sampler.ts'
import { AppAutoscaler } from '../../regions/machine/app-autoscaler.ts'
import { LastRequests } from '../../regions/machine/last-requests.ts'
import type { Reconciler } from '../../regions/machine/reconciler.ts'
import { listEnvironmentIdsIn } from '../../store/repositories/environments-in-regions.ts'
import type { Platform } from '../platform.ts'
import { PlatformMetrics } from './platform-metrics.ts'

/** The measuring part of a running platform: gateway counters and container usage into the metric store. */
export interface Measuring {
  ingress: IngressCounter
  /** Figures of the platform itself. */
  figures: PlatformMetrics
  /** Event handlers for the gateway link. */
  gatewayEvents: Pick<GatewayEvents, 'hello' | 'traffic' | 'down'>
  /** Starts sampling, and autoscaling of regular apps on the samples. */
  start(reconciler: Pick<Reconciler, 'metricTargets' | 'wake'>): void
  forget(appEnvId: string): Promise<void>
  stop(): Promise<void>
}

/** Loads the samples from before a restart; sampling begins with `start`. */
export async function openMeasuring({
  db,
  membership,
  metrics,
  clock,
  log,
  config,
}: Platform): Promise<Measuring> {
  const known = new Set(await db.read((tx) => listEnvironmentIdsIn(tx)))
  const ingress = new IngressCounter(metrics.periodMs)
  const lastRequests = new LastRequests({ db: membership.machineDb, clock, log })
  await metrics.open(
    (appEnvId) => known.has(appEnvId),
    (state, t) => {
      const agoMs = Math.max(0, clock.wallMs() - t)
      if (state) ingress.restore(state as IngressState, clock.monotonicMs() - agoMs)
    },
  )
  metrics.sinceSample = (appEnvId) => ingress.peek(appEnvId, clock.monotonicMs())
  const figures = new PlatformMetrics()
  let sampler: Sampler | null = null
  let autoscaler: AppAutoscaler | null = null
  return {
    ingress,
    figures,
    gatewayEvents: {
      hello: ({ pid }) => ingress.hello(pid, clock.monotonicMs()),
      traffic(samples) {
        const atMs = clock.wallMs()
        for (const { appEnvId, ...counts } of ingress.traffic(samples)) {
          metrics.recentTraffic.add(appEnvId, counts, atMs)
          if (counts.requests > counts.failed + counts.unanswered) lastRequests.note(appEnvId)
        }
      },
      down: () => ingress.down(),
    },
    start(reconciler) {
      const environments = () => reconciler.metricTargets()
      sampler = new Sampler({ clock, log, store: metrics, ingress, environments })
      sampler.start()
      autoscaler = new AppAutoscaler({
        db: membership.machineDb,
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
      lastRequests.forget(appEnvId)
      figures.forget(appEnvId)
      await metrics.forget(appEnvId)
    },
    async stop() {
      await lastRequests.stop()
      await Promise.all([sampler?.stop(), autoscaler?.stop()])
      figures.close()
    },
  }
}
