import { describe, expect, it } from 'vitest'
import { listAccounts } from '../../../src/contract/accounts.ts'
import { AppError } from '../../../src/errors.ts'
import { IngressCounter } from '../../../src/metrics/ingress-counter.ts'
import { prometheusText } from '../../../src/metrics/prometheus-text.ts'
import type { Call } from '../../../src/operations/core/call.ts'
import { PlatformMetrics } from '../../../src/server/telemetry/platform-metrics.ts'

describe('figures of the platform', () => {
  it('are in the text format of Prometheus, labels escaped', () => {
    const values = [{ labels: { a: 'x"\\\n' }, value: 2 }, { value: 0.5 }]
    expect(prometheusText([{ name: 'n', help: 'Help.', type: 'gauge', values }])).toBe(
      '# HELP n Help.\n# TYPE n gauge\nn{a="x\\"\\\\\\n"} 2\nn 0.5\n',
    )
  })

  it('count operations by outcome, cold starts and traffic', async () => {
    const figures = new PlatformMetrics()
    const runner = figures.counted({
      run: async ({ token }) => {
        if (token === null) throw new AppError('unauthenticated', 'no')
        return { status: 200, body: '{}' }
      },
      authenticate: async () => 'usr_1',
    })
    const call = { operation: listAccounts, token: 't' } as unknown as Call
    await runner.run(call)
    await runner.run(call)
    await expect(runner.run({ ...call, token: null })).rejects.toThrow('no')
    // The first word of a gateway is no start; from none to some is one.
    for (const containers of [2, 0, 1, 3, 0, 1]) figures.desired('env_a', containers)
    figures.desired('env_deleted', 0)
    figures.forget('env_deleted')
    figures.desired('env_deleted', 1)
    const ingress = new IngressCounter(10_000)
    ingress.hello(1, 0)
    const counters = {
      requests: 9,
      answered4xx: 2,
      answered5xx: 1,
      unanswered: 0,
      inFlight: 4,
      queued: 0,
      latency: {},
    }
    ingress.traffic([{ appEnvId: 'env_a', ...counters }])
    const queues = [{ queue: 'notifications', length: 3 }]
    const identity = { version: '1.2.3', store: 'sqlite' } as const
    const facts = {
      identity,
      startedMs: 1_700_000_000_999,
      queues,
      certificates: [{ appEnvId: 'env_a', days: 12.5 }],
    }
    const text = figures.text(ingress, [], 123, facts)
    expect(figures.text(ingress, [], 123, { ...facts, identity: null })).not.toMatch(/1\.2\.3|sqlite/)
    figures.close()
    for (const line of [
      'longshore_up 1',
      'longshore_info{version="1.2.3",store="sqlite"} 1',
      'longshore_start_time_seconds 1700000000',
      'longshore_queue_length{queue="notifications"} 3',
      'longshore_operations_total{operation="list-accounts",outcome="ok"} 2',
      'longshore_operations_total{operation="list-accounts",outcome="unauthenticated"} 1',
      'longshore_operations_in_flight 0',
      'longshore_cold_starts_total 2',
      'longshore_gateway_requests_total 9',
      'longshore_gateway_answers_total{class="4xx"} 2',
      'longshore_gateway_answers_total{class="5xx"} 1',
      'longshore_gateway_requests_in_flight 4',
      'longshore_containers_ready 0',
      'longshore_metric_store_bytes 123',
      'longshore_certificate_days_left{environment="env_a"} 12.5',
    ]) {
      expect(text.split('\n')).toContain(line)
    }
    expect(text).toMatch(/longshore_event_loop_lag_seconds\{quantile="0.99"\} \d/)
  })
})
