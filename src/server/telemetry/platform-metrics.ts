import { monitorEventLoopDelay } from 'node:perf_hooks'
import { AppError } from '../../errors.ts'
import type { IngressCounter } from '../../metrics/ingress-counter.ts'
import { type MetricFamily, prometheusText } from '../../metrics/prometheus-text.ts'
import type { OperationRunner } from '../../operations/core/call.ts'
import type { MetricTarget } from '../../regions/machine/metric-targets.ts'

/** Facts about the installation that `/metrics` reports beside its counters. */
interface InstallationFacts {
  /** Null for callers without a token: a version tells a stranger which flaws to try. */
  identity: { version: string; store: 'sqlite' | 'postgresql' } | null
  startedMs: number
  /** Empty while the store is away. */
  queues: readonly { queue: string; length: number }[]
  /** Days until the first certificate of each environment ends. */
  certificates: readonly { appEnvId: string; days: number }[]
}

/** Figures of the platform itself, for `/metrics`. Labels never carry a tenant's words. */
export class PlatformMetrics {
  readonly #lag = monitorEventLoopDelay({ resolution: 10 })
  readonly #operations = new Map<string, { operation: string; outcome: string; count: number }>()
  /** Functions whose desired number of containers is zero. */
  readonly #atZero = new Set<string>()
  #inFlight = 0
  #coldStarts = 0

  constructor() {
    this.#lag.enable()
  }

  /** Wraps a runner and counts its calls. */
  counted(runner: OperationRunner): OperationRunner {
    return {
      ...runner,
      run: async (call) => {
        this.#inFlight += 1
        try {
          const reply = await runner.run(call)
          this.#count(call.operation.id, 'ok')
          return reply
        } catch (error) {
          this.#count(call.operation.id, error instanceof AppError ? error.kind : 'bug')
          throw error
        } finally {
          this.#inFlight -= 1
        }
      },
    }
  }

  /** Records the desired number of containers of a function; an increase from zero is a cold start. */
  desired(appEnvId: string, containers: number): void {
    if (containers === 0) this.#atZero.add(appEnvId)
    else if (this.#atZero.delete(appEnvId)) this.#coldStarts += 1
  }

  /** Removes a deleted environment. */
  forget(appEnvId: string): void {
    this.#atZero.delete(appEnvId)
  }

  text(
    ingress: IngressCounter,
    environments: readonly MetricTarget[],
    storeBytes: number,
    facts: InstallationFacts,
  ): string {
    const running = environments.filter(({ runs }) => runs).length
    const ready = environments.reduce((sum, { ready }) => sum + ready, 0)
    return prometheusText([
      gauge('longshore_up', 'The control plane runs.', 1),
      ...installation(facts),
      this.#operationsTotal(),
      gauge('longshore_operations_in_flight', 'Operations in flight.', this.#inFlight),
      counter(
        'longshore_cold_starts_total',
        'Cold starts: functions that a request started from zero containers.',
        this.#coldStarts,
      ),
      this.#eventLoopLag(),
      gauge('longshore_resident_memory_bytes', 'Memory of the control plane.', process.memoryUsage.rss()),
      ...traffic(ingress),
      gauge('longshore_environments', 'Environments whose desired state is running.', running),
      gauge('longshore_containers_ready', 'Ready containers.', ready),
      gauge('longshore_metric_store_bytes', 'Samples held in memory.', storeBytes),
    ])
  }

  close(): void {
    this.#lag.disable()
  }

  #count(operation: string, outcome: string): void {
    const key = `${operation} ${outcome}`
    const known = this.#operations.get(key) ?? { operation, outcome, count: 0 }
    known.count += 1
    this.#operations.set(key, known)
  }

  #operationsTotal(): MetricFamily {
    return {
      name: 'longshore_operations_total',
      help: 'Completed operations, by outcome: ok or the kind of the error.',
      type: 'counter',
      values: [...this.#operations.values()].map(({ operation, outcome, count: value }) => ({
        labels: { operation, outcome },
        value,
      })),
    }
  }

  /** Since the last read; subtracts the 10 ms of the timer that measures it. */
  #eventLoopLag(): MetricFamily {
    const lag = this.#lag
    const seconds = (nanoseconds: number) => Math.max(0, (nanoseconds - 10e6) / 1e9)
    const values = [
      { labels: { quantile: '0.5' }, value: seconds(lag.percentile(50)) },
      { labels: { quantile: '0.99' }, value: seconds(lag.percentile(99)) },
      { labels: { quantile: '1' }, value: seconds(lag.max) },
    ]
    lag.reset()
    return {
      name: 'longshore_event_loop_lag_seconds',
      help: 'Event loop delay of the control plane since the last read.',
      type: 'gauge',
      values,
    }
  }
}

function installation({ identity, startedMs, queues, certificates }: InstallationFacts): MetricFamily[] {
  return [
    {
      name: 'longshore_info',
      help: 'Version of the control plane, and where it keeps its rows.',
      type: 'gauge',
      values: identity ? [{ labels: { ...identity }, value: 1 }] : [],
    },
    gauge('longshore_start_time_seconds', 'When the control plane started.', Math.floor(startedMs / 1_000)),
    {
      name: 'longshore_queue_length',
      help: 'Work that waits or is under way.',
      type: 'gauge',
      values: queues.map(({ queue, length: value }) => ({ labels: { queue }, value })),
    },
    {
      name: 'longshore_certificate_days_left',
      help: 'Days until the first certificate of the domains of an environment ends.',
      type: 'gauge',
      values: certificates.map(({ appEnvId, days }) => ({ labels: { environment: appEnvId }, value: days })),
    },
  ]
}

function traffic(ingress: IngressCounter): MetricFamily[] {
  const { requests, answered4xx, answered5xx, drained, inFlight } = ingress.totals
  return [
    counter('longshore_gateway_requests_total', 'Requests that reached the gateway.', requests),
    {
      name: 'longshore_gateway_answers_total',
      help: 'Error responses of the gateway.',
      type: 'counter',
      values: [
        { labels: { class: '4xx' }, value: answered4xx },
        { labels: { class: '5xx' }, value: answered5xx },
      ],
    },
    counter(
      'longshore_gateway_streams_drained_total',
      'Event streams and WebSockets that a restart, a deployment or a stop ended.',
      drained,
    ),
    gauge('longshore_gateway_requests_in_flight', 'Requests in flight in the gateway.', inFlight),
  ]
}

function gauge(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: 'gauge', values: [{ value }] }
}

function counter(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: 'counter', values: [{ value }] }
}
