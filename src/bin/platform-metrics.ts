import { monitorEventLoopDelay } from 'node:perf_hooks'
import { AppError } from '../errors.ts'
import type { IngressCounter } from '../metrics/ingress-counter.ts'
import { type MetricFamily, prometheusText } from '../metrics/prometheus-text.ts'
import type { OperationRunner } from '../operations/call.ts'
import type { Measured } from '../reconciler/measured.ts'

/** Figures of the platform itself, for `/metrics`. Labels never carry a tenant's words. */
export class PlatformMetrics {
  readonly #lag = monitorEventLoopDelay({ resolution: 10 })
  readonly #operations = new Map<string, { operation: string; outcome: string; count: number }>()
  /** Functions of which the gateway wishes no container at present. */
  readonly #atZero = new Set<string>()
  #inFlight = 0
  #coldStarts = 0

  constructor() {
    this.#lag.enable()
  }

  /** The same runner, its calls counted. */
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

  /** Hears what the gateway wishes for functions: from none to some is a cold start. */
  desired(appEnvId: string, containers: number): void {
    if (containers === 0) this.#atZero.add(appEnvId)
    else if (this.#atZero.delete(appEnvId)) this.#coldStarts += 1
  }

  /** The environment is deleted. */
  forget(appEnvId: string): void {
    this.#atZero.delete(appEnvId)
  }

  text(ingress: IngressCounter, environments: readonly Measured[], storeBytes: number): string {
    const ready = environments.reduce((sum, { ready }) => sum + ready, 0)
    return prometheusText([
      gauge('longshore_up', 'The control plane runs.', 1),
      this.#operationsTotal(),
      gauge('longshore_operations_in_flight', 'Operations under way.', this.#inFlight),
      counter(
        'longshore_cold_starts_total',
        'Functions that a request woke from zero containers.',
        this.#coldStarts,
      ),
      this.#eventLoopLag(),
      gauge('longshore_resident_memory_bytes', 'Memory of the control plane.', process.memoryUsage.rss()),
      ...traffic(ingress),
      gauge('longshore_environments', 'Environments that are wished to run.', environments.length),
      gauge('longshore_containers_ready', 'Containers that answer.', ready),
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
      help: 'Operations carried out, by outcome: ok or the kind of the error.',
      type: 'counter',
      values: [...this.#operations.values()].map(({ operation, outcome, count: value }) => ({
        labels: { operation, outcome },
        value,
      })),
    }
  }

  /** Since the last read; a reading of the timer that measures it counts its own 10 ms. */
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
      help: 'How late the control plane was for its timers since the last read.',
      type: 'gauge',
      values,
    }
  }
}

function traffic(ingress: IngressCounter): MetricFamily[] {
  const { requests, answered4xx, answered5xx, inFlight } = ingress.totals
  return [
    counter('longshore_gateway_requests_total', 'Requests that reached the gateway.', requests),
    {
      name: 'longshore_gateway_answers_total',
      help: 'Answers of the gateway that tell of an error.',
      type: 'counter',
      values: [
        { labels: { class: '4xx' }, value: answered4xx },
        { labels: { class: '5xx' }, value: answered5xx },
      ],
    },
    gauge('longshore_gateway_requests_in_flight', 'Requests under way in the gateway.', inFlight),
  ]
}

function gauge(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: 'gauge', values: [{ value }] }
}

function counter(name: string, help: string, value: number): MetricFamily {
  return { name, help, type: 'counter', values: [{ value }] }
}
