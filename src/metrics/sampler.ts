import type { Clock } from '../clock.ts'
import type { Engine } from '../engines/engine.ts'
import type { Log } from '../log.ts'
import { Worker } from '../worker.ts'
import type { IngressCounter, IngressState } from './ingress-counter.ts'
import type { ContainerSample, Sample } from './sample.ts'
import type { MetricStore } from './store.ts'

/** A running container with its limits. */
export interface MetricTargetContainer {
  name: string
  engine: Engine
  cpuMillicores: number
  memoryMb: number
  /** ISO 8601, from the engine; null if unknown. */
  startedAt: string | null
}

/** An environment to measure. */
interface MetricTargetEnvironment {
  appEnvId: string
  /** False while stopped: then only requests that the gateway rejected are sampled. */
  runs: boolean
  /** Empty for functions: their CPU and memory are not collected (F9). */
  containers: readonly MetricTargetContainer[]
  /** It receives requests through the gateway, unlike databases and jobs. */
  hasIngress: boolean
}

interface SamplerDeps {
  clock: Clock
  log: Log
  store: MetricStore
  ingress: IngressCounter
  environments: () => readonly MetricTargetEnvironment[]
}

/** Interval between samples at clock scale 1 (docs/interface.md#measurements). */
const samplePeriodMs = 10_000
const leastPeriodMs = 250
/** Maximum number of parallel engine requests. */
const readers = 8

/** Milliseconds between two samples; shorter under a clock scale, as windows are. */
export function periodAt(clockScale: number): number {
  return Math.max(leastPeriodMs, Math.round(samplePeriodMs / clockScale))
}

interface Reading {
  cpuMs: number
  atMs: number
}

/** Stores the resource usage of containers and the traffic of the gateway every period. */
export class Sampler {
  readonly #deps: SamplerDeps
  /** The last reading of each container, by name. */
  #readings = new Map<string, Reading>()
  readonly #worker: Worker

  constructor(deps: SamplerDeps) {
    this.#deps = deps
    const { clock, store, log } = deps
    this.#worker = new Worker({
      clock,
      everyMs: store.periodMs,
      pass: () => this.sample(),
      failed: (error) => log.error({ err: error }, 'a sample could not be taken'),
    })
  }

  start(): void {
    this.#worker.start()
  }

  stop(): Promise<void> {
    return this.#worker.stop()
  }

  /** Takes one sample of everything. */
  async sample(): Promise<void> {
    const { clock, store, ingress, environments } = this.#deps
    const metricTargets = environments()
    const used = await this.#readAll(metricTargets.flatMap((environment) => environment.containers))
    const counted = ingress.take(clock.monotonicMs())
    const samples = metricTargets.flatMap(({ appEnvId, runs, containers, hasIngress }): Sample[] => {
      const ingress = hasIngress && counted ? counted(appEnvId) : null
      const hasTraffic = ingress !== null && (ingress.requests > 0 || Object.keys(ingress.latency).length > 0)
      if (!runs && !hasTraffic) return []
      return [
        { appEnvId, containers: containers.flatMap((container) => used.get(container.name) ?? []), ingress },
      ]
    })
    await store.append(clock.wallMs(), samples, (whole): IngressState => ingress.state(whole))
  }

  /** Usage of each container since its last reading. The first reading of an older container is only the baseline. */
  async #readAll(containers: readonly MetricTargetContainer[]): Promise<Map<string, ContainerSample>> {
    const used = new Map<string, ContainerSample>()
    const readings = new Map<string, Reading>()
    const waiting = [...containers]
    const read = async () => {
      for (let next = waiting.pop(); next && !this.#worker.stopped; next = waiting.pop()) {
        const usage = await this.#usage(next)
        if (!usage) continue
        const now: Reading = { cpuMs: usage.cpuMs, atMs: this.#deps.clock.monotonicMs() }
        readings.set(next.name, now)
        const before = this.#readings.get(next.name) ?? this.#startOf(next)
        if (!before || now.atMs <= before.atMs) continue
        used.set(next.name, {
          cpuMillicores: (1_000 * Math.max(0, now.cpuMs - before.cpuMs)) / (now.atMs - before.atMs),
          cpuLimitMillicores: next.cpuMillicores,
          memoryMb: usage.memoryMb,
          memoryLimitMb: next.memoryMb,
        })
      }
    }
    await Promise.all(Array.from({ length: readers }, read))
    this.#readings = readings
    // A part of the containers would count as all of them.
    return this.#worker.stopped ? new Map() : used
  }

  /** A container younger than about one period is counted from its start, with a usage of zero. */
  #startOf(container: MetricTargetContainer): Reading | null {
    const { clock, store } = this.#deps
    if (container.startedAt === null) return null
    const ageMs = clock.wallMs() - Date.parse(container.startedAt)
    if (!(ageMs > 0) || ageMs > 2 * store.periodMs) return null
    return { cpuMs: 0, atMs: clock.monotonicMs() - ageMs }
  }

  async #usage({ engine, name }: MetricTargetContainer) {
    try {
      return await engine.usage(name)
    } catch (error) {
      // The reconciler reports an unavailable engine; the sampler just has no values.
      this.#deps.log.debug({ err: error, container: name }, 'cannot read the usage of a container')
      return null
    }
  }
}
