import { type Cancel, type Clock, every } from '../clock.ts'
import type { Engine } from '../engines/engine.ts'
import type { Log } from '../log.ts'
import type { IngressCounter, IngressState } from './ingress-counter.ts'
import type { MetricStore } from './metric-store.ts'
import type { ContainerSample, Sample } from './sample.ts'

/** A container that runs now, with its limits. */
export interface MeasuredContainer {
  name: string
  engine: Engine
  cpuMillicores: number
  memoryMb: number
  /** ISO 8601, of the engine; null when it is not known. */
  startedAt: string | null
}

/** An environment that should be measured now. */
export interface MeasuredEnvironment {
  appEnvId: string
  /** Empty for functions: their CPU and memory are not collected (F9). */
  containers: readonly MeasuredContainer[]
  /** It answers through the gateway: not databases and jobs. */
  hasIngress: boolean
}

export interface SamplerParts {
  clock: Clock
  log: Log
  store: MetricStore
  ingress: IngressCounter
  environments: () => readonly MeasuredEnvironment[]
}

/** Samples are taken this often at clock scale 1 (contract.md 5). */
const samplePeriodMs = 10_000
const leastPeriodMs = 250
/** Questions to engines under way at once. */
const readers = 8

/** Milliseconds between two samples: windows run faster under a clock scale, so samples do too. */
export function periodAt(clockScale: number): number {
  return Math.max(leastPeriodMs, Math.round(samplePeriodMs / clockScale))
}

interface Reading {
  cpuMs: number
  atMs: number
}

/** Reads what containers use and what the gateway counted, every period, into the store. */
export class Sampler {
  readonly #parts: SamplerParts
  /** The last reading of each container, by name. */
  #readings = new Map<string, Reading>()
  #cancel: Cancel = () => {}

  constructor(parts: SamplerParts) {
    this.#parts = parts
  }

  start(): void {
    const { clock, store, log } = this.#parts
    this.#cancel = every(clock, store.periodMs, () =>
      this.sample().catch((error) => log.error({ err: error }, 'a sample could not be taken')),
    )
  }

  stop(): void {
    this.#cancel()
  }

  /** Takes one sample of everything. */
  async sample(): Promise<void> {
    const { clock, store, ingress, environments } = this.#parts
    const measured = environments()
    const used = await this.#readAll(measured.flatMap((environment) => environment.containers))
    const counted = ingress.take(clock.monotonicMs())
    const samples: Sample[] = measured.map(({ appEnvId, containers, hasIngress }) => ({
      appEnvId,
      containers: containers.flatMap((container) => used.get(container.name) ?? []),
      ingress: hasIngress && counted ? counted(appEnvId) : null,
    }))
    await store.append(clock.wallMs(), samples, (whole): IngressState => ingress.state(whole))
  }

  /** What each container used since its last reading; the first reading of an old one only begins the counting. */
  async #readAll(containers: readonly MeasuredContainer[]): Promise<Map<string, ContainerSample>> {
    const used = new Map<string, ContainerSample>()
    const readings = new Map<string, Reading>()
    const waiting = [...containers]
    const read = async () => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        const usage = await this.#usage(next)
        if (!usage) continue
        const now: Reading = { cpuMs: usage.cpuMs, atMs: this.#parts.clock.monotonicMs() }
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
    return used
  }

  /** A container that is hardly older than a period is counted from its start, when it had used nothing. */
  #startOf(container: MeasuredContainer): Reading | null {
    const { clock, store } = this.#parts
    if (container.startedAt === null) return null
    const ageMs = clock.wallMs() - Date.parse(container.startedAt)
    if (!(ageMs > 0) || ageMs > 2 * store.periodMs) return null
    return { cpuMs: 0, atMs: clock.monotonicMs() - ageMs }
  }

  async #usage({ engine, name }: MeasuredContainer) {
    try {
      return await engine.usage(name)
    } catch (error) {
      // An engine that is away is told about by the reconciler; here there is just nothing to measure.
      this.#parts.log.debug({ err: error, container: name }, 'usage could not be read')
      return null
    }
  }
}
