import { type Cancel, type Clock, every, timestamp } from '../clock.ts'
import { decideAppScale, scalingWindowMs, type UsageSample } from '../domain/app-autoscaling.ts'
import { zCloudSize } from '../domain/environment.ts'
import type { Log } from '../log.ts'
import type { MeasuredValues } from '../metrics/metric-source.ts'
import { insertActivity } from '../store/activities.ts'
import type { Db } from '../store/db.ts'
import { findEnvironment, saveEnvironment } from '../store/environments.ts'
import { findRollout, saveRollout } from '../store/rollouts.ts'
import type { Autoscaled, Measured } from './measured.ts'

export interface AppAutoscalerParts {
  db: Db
  clock: Clock
  log: Log
  metrics: MeasuredValues
  clockScale: number
  environments: () => readonly Measured[]
  wake: (appEnvIds: readonly string[]) => void
}

/**
 * Scales regular apps by CPU and memory, once a sampling period. It keeps nothing itself: what it decides from is
 * in the metric store and in the environment, so a restart changes no decision.
 */
export class AppAutoscaler {
  readonly #parts: AppAutoscalerParts
  #cancel: Cancel = () => {}

  constructor(parts: AppAutoscalerParts) {
    this.#parts = parts
  }

  start(): void {
    const { clock, metrics } = this.#parts
    this.#cancel = every(clock, metrics.periodMs, () => this.turn())
  }

  stop(): void {
    this.#cancel()
  }

  /** Looks at every autoscaled environment once. */
  async turn(): Promise<void> {
    for (const { appEnvId, autoscaled } of this.#parts.environments()) {
      if (!autoscaled) continue
      try {
        await this.#scale(appEnvId, autoscaled)
      } catch (error) {
        this.#parts.log.warn({ err: error, appEnvId }, 'autoscaling skipped a turn')
      }
    }
  }

  async #scale(appEnvId: string, { autoscaling, containers, zClouds }: Autoscaled): Promise<void> {
    const { clock, metrics, clockScale } = this.#parts
    const { periodMs } = metrics
    const nowMs = clock.wallMs()
    const windowMs = scalingWindowMs(autoscaling, periodMs, clockScale)
    const decided = decideAppScale({
      nowMs,
      autoscaling,
      containers,
      limits: {
        cpuMillicores: zClouds * zCloudSize.cpuMillicores,
        memoryMb: zClouds * zCloudSize.memoryMb,
      },
      samples: await this.#samples(appEnvId, nowMs - windowMs, nowMs),
      periodMs,
      clockScale,
    })
    if (decided.containers === containers) return
    const reason = decided.reason ?? ''
    if (await this.#write(appEnvId, containers, decided.containers, reason)) this.#parts.wake([appEnvId])
  }

  async #samples(appEnvId: string, fromMs: number, toMs: number): Promise<UsageSample[]> {
    const { metrics } = this.#parts
    const range = { appEnvId, fromMs, toMs, stepMs: metrics.periodMs }
    const cpu = await metrics.series({ ...range, metric: 'cpu_usage' })
    const memory = await metrics.series({ ...range, metric: 'memory_usage' })
    // The most of a step: where two samples fall into one, a busy one must not be averaged away.
    const memoryAt = new Map(memory.map((point) => [point.t, point.max]))
    return cpu.map(({ t, max }) => ({ atMs: t, cpuMillicores: max, memoryMb: memoryAt.get(t) ?? null }))
  }

  /** Nothing when somebody changed the environment meanwhile. */
  #write(appEnvId: string, before: number, after: number, reason: string): Promise<boolean> {
    return this.#parts.db.write(async (tx) => {
      const environment = await findEnvironment(tx, { appEnvId })
      if (!environment?.autoscaling.enabled || environment.wish !== 'running') return false
      if (environment.saved.containers !== before) return false
      environment.saved.containers = after
      environment.applied.containers = after
      if (environment.wantedRolloutId !== null) {
        // A rollout under way brings its own snapshot of settings: it must not take the count back.
        const rollout = await findRollout(tx, environment.wantedRolloutId)
        if (rollout) {
          rollout.settings.containers = after
          await saveRollout(tx, rollout)
        }
      }
      await saveEnvironment(tx, environment)
      await insertActivity(tx, appEnvId, {
        activity: 'AUTOSCALE',
        contentId: null,
        version: environment.currentVersion,
        status: 'DONE',
        timestamp: timestamp(this.#parts.clock.wallMs()),
        userId: null,
        gitCommitId: null,
        details: `${before} to ${after} containers: ${reason}`,
      })
      return true
    })
  }
}
