import { isDeepStrictEqual } from 'node:util'
import { type Clock, timestamp } from '../../clock.ts'
import { decideAppScale, scalingWindowMs, type UsageSample } from '../../domain/apps/autoscaling.ts'
import { zCloudSize } from '../../domain/environments/environment.ts'
import type { Log } from '../../log.ts'
import type { MetricValues } from '../../metrics/source.ts'
import type { Db } from '../../store/db.ts'
import { insertActivity } from '../../store/repositories/activities.ts'
import { findEnvironment, saveEnvironment } from '../../store/repositories/environments.ts'
import { findRollout, saveRollout } from '../../store/repositories/rollouts.ts'
import { Worker } from '../../worker.ts'
import type { Autoscaled, MetricTarget } from './metric-targets.ts'

interface AppAutoscalerDeps {
  db: Db
  clock: Clock
  log: Log
  metrics: MetricValues
  clockScale: number
  environments: () => readonly MetricTarget[]
  wake: (appEnvIds: readonly string[]) => void
}

/**
 * Scales regular apps by CPU and memory, once per sampling period. It keeps no state: its input is in the metric
 * store and the environment, so a restart changes no decision.
 */
export class AppAutoscaler {
  readonly #deps: AppAutoscalerDeps
  readonly #worker: Worker

  constructor(deps: AppAutoscalerDeps) {
    this.#deps = deps
    const { clock, metrics, log } = deps
    this.#worker = new Worker({
      clock,
      everyMs: metrics.periodMs,
      pass: () => this.pass(),
      failed: (error) => log.error({ err: error }, 'autoscaling failed; retrying with the next sample'),
    })
  }

  start(): void {
    this.#worker.start()
  }

  stop(): Promise<void> {
    return this.#worker.stop()
  }

  /** Checks every autoscaled environment once. */
  async pass(): Promise<void> {
    for (const { appEnvId, autoscaled } of this.#deps.environments()) {
      if (!autoscaled) continue
      try {
        await this.#scale(appEnvId, autoscaled)
      } catch (error) {
        this.#deps.log.warn(
          { err: error, appEnvId },
          'cannot autoscale an environment; retrying with the next sample',
        )
      }
    }
  }

  async #scale(appEnvId: string, { autoscaling, containers, zClouds }: Autoscaled): Promise<void> {
    const { clock, metrics, clockScale } = this.#deps
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
    // Also after an error: the change may be stored although the response was lost.
    const seen = { autoscaling, containers }
    await this.#write(appEnvId, seen, decided.containers, reason).finally(() => this.#deps.wake([appEnvId]))
  }

  async #samples(appEnvId: string, fromMs: number, toMs: number): Promise<UsageSample[]> {
    const { metrics } = this.#deps
    const range = { appEnvId, fromMs, toMs, stepMs: metrics.periodMs }
    const cpu = await metrics.series({ ...range, metric: 'cpu_usage' })
    const memory = await metrics.series({ ...range, metric: 'memory_usage' })
    // The maximum of a step: if two samples share a step, a busy one must not be averaged away.
    const memoryAt = new Map(memory.map((point) => [point.t, point.max]))
    return cpu.map(({ t, max }) => ({ atMs: t, cpuMillicores: max, memoryMb: memoryAt.get(t) ?? null }))
  }

  /** Writes nothing if the environment changed meanwhile. */
  #write(
    appEnvId: string,
    seen: Omit<Autoscaled, 'zClouds'>,
    after: number,
    reason: string,
  ): Promise<boolean> {
    const before = seen.containers
    return this.#deps.db.write(async (tx) => {
      const environment = await findEnvironment(tx, { appEnvId })
      if (environment?.desiredState !== 'running' || environment.saved.containers !== before) return false
      if (!isDeepStrictEqual(environment.autoscaling, seen.autoscaling)) return false
      environment.saved.containers = after
      environment.applied.containers = after
      if (environment.wantedRolloutId !== null) {
        // A rollout in progress applies its own snapshot of settings, which must not reset the count.
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
        timestamp: timestamp(this.#deps.clock.wallMs()),
        userId: null,
        gitCommitId: null,
        details: `${before} to ${after} containers: ${reason}`,
      })
      return true
    })
  }
}
