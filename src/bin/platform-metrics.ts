import { monitorEventLoopDelay } from 'node:perf_hooks'
import { AppError } from '../errors.ts'
import type { IngressCounter } from '../metrics/ingress-counter.ts'
import { type MetricFamily, prometheusText } from '../metrics/prometheus-text.ts'
import type { OperationRunner } from '../operations/call.ts'
import type { Measured } from '../reconciler/measured.ts'

/** Figures of the platform itself, for `/metrics`. Labels never carry a tenant's words. */
export interface PlatformMetrics {
  /** The same runner, its calls counted. */
  counted(runner: OperationRunner): OperationRunner
  /** Hears what the gateway wishes for functions: from none to some is a cold start. */
  desired(appEnvId: string, containers: number): void
  text(ingress: IngressCounter, environments: readonly Measured[], storeBytes: number): string
  close(): void
}

export function createPlatformMetrics(): PlatformMetrics {
  const lag = monitorEventLoopDelay({ resolution: 10 })
  lag.enable()
  const operations = new Map<string, { operation: string; outcome: string; count: number }>()
  const desired = new Map<string, number>()
  let inFlight = 0
  let coldStarts = 0

  function count(operation: string, outcome: string): void {
    const key = `${operation} ${outcome}`
    const known = operations.get(key) ?? { operation, outcome, count: 0 }
    known.count += 1
    operations.set(key, known)
  }

  function own(): MetricFamily[] {
    const seconds = (nanoseconds: number) => Math.max(0, nanoseconds / 1e9)
    const families: MetricFamily[] = [
      gauge('longshore_up', 'The control plane runs.', 1),
      {
        name: 'longshore_operations_total',
        help: 'Operations carried out, by outcome: ok or the kind of the error.',
        type: 'counter',
        values: [...operations.values()].map(({ operation, outcome, count: value }) => ({
          labels: { operation, outcome },
          value,
        })),
      },
      gauge('longshore_operations_in_flight', 'Operations under way.', inFlight),
      counter(
        'longshore_cold_starts_total',
        'Functions that a request woke from zero containers.',
        coldStarts,
      ),
      {
        name: 'longshore_event_loop_lag_seconds',
        help: 'How late the control plane was for its timers since the last read.',
        type: 'gauge',
        values: [
          { labels: { quantile: '0.5' }, value: seconds(lag.percentile(50) - 10e6) },
          { labels: { quantile: '0.99' }, value: seconds(lag.percentile(99) - 10e6) },
          { labels: { quantile: '1' }, value: seconds(lag.max - 10e6) },
        ],
      },
      gauge('longshore_resident_memory_bytes', 'Memory of the control plane.', process.memoryUsage.rss()),
    ]
    lag.reset()
    return families
  }

  return {
    counted: (runner) => ({
      ...runner,
      async run(call) {
        inFlight += 1
        try {
          const reply = await runner.run(call)
          count(call.operation.id, 'ok')
          return reply
        } catch (error) {
          count(call.operation.id, error instanceof AppError ? error.kind : 'bug')
          throw error
        } finally {
          inFlight -= 1
        }
      },
    }),
    desired(appEnvId, containers) {
      if (desired.get(appEnvId) === 0 && containers > 0) coldStarts += 1
      desired.set(appEnvId, containers)
    },
    text(ingress, environments, storeBytes) {
      return prometheusText([
        ...own(),
        ...traffic(ingress),
        gauge('longshore_environments', 'Environments that are wished to run.', environments.length),
        gauge(
          'longshore_containers_ready',
          'Containers that answer.',
          environments.reduce((sum, { ready }) => sum + ready, 0),
        ),
        gauge('longshore_metric_store_bytes', 'Samples held in memory.', storeBytes),
      ])
    },
    close: () => lag.disable(),
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
