import { describe, expect, it } from 'vitest'
import { IngressCounter } from '../../../src/metrics/ingress-counter.ts'

const periodMs = 10_000

function sample(requests: number, answered5xx = 0, latency: Record<string, number> = {}) {
  return {
    appEnvId: 'env_a',
    requests,
    answered4xx: 0,
    answered5xx,
    unanswered: 0,
    inFlight: 0,
    queued: 0,
    latency,
  }
}

describe('counting of ingress', () => {
  it('turns counters since the start of the gateway into the traffic since the last sample', () => {
    const counter = new IngressCounter(periodMs)
    counter.hello(1, 0)
    counter.traffic([sample(5, 1, { 10: 5 })])
    counter.traffic([sample(12, 1, { 10: 4, 20: 3 })])
    expect(counter.take(10_000)!('env_a')).toEqual({
      seconds: 10,
      requests: 12,
      answered4xx: 0,
      answered5xx: 1,
      latency: { 10: 9, 20: 3 },
    })
    counter.traffic([sample(13, 2, { 10: 1 })])
    expect(counter.take(20_000)!('env_a')).toMatchObject({ requests: 1, answered5xx: 1, latency: { 10: 1 } })
    expect(counter.take(30_000)!('env_a')).toMatchObject({ requests: 0, latency: {} })
  })

  it('counts from zero after a restart of the gateway, exactly', () => {
    const counter = new IngressCounter(periodMs)
    counter.hello(1, 0)
    counter.traffic([sample(100)])
    counter.take(10_000)
    counter.down()
    expect(counter.take(15_000)).toBeNull()
    counter.hello(2, 16_000)
    // More than the old gateway had counted: only the process id tells that these are all new.
    counter.traffic([sample(150)])
    expect(counter.take(20_000)!('env_a').requests).toBe(150)
    expect(counter.totals.requests).toBe(250)
  })

  it('continues from the stored state when the control plane restarts and the gateway does not', () => {
    const first = new IngressCounter(periodMs)
    first.hello(7, 0)
    first.traffic([sample(100)])
    first.take(10_000)
    const kept = [first.state(true)]
    first.traffic([sample(140)])
    first.take(20_000)
    kept.push(first.state(false))
    const second = new IngressCounter(periodMs)
    for (const state of kept) second.restore(JSON.parse(JSON.stringify(state)), -4_000)
    second.hello(7, 500)
    second.traffic([sample(160)])
    expect(second.take(6_000)!('env_a')).toMatchObject({ requests: 20, seconds: 10 })
  })

  it('does not average over a long time without samples', () => {
    const counter = new IngressCounter(periodMs)
    counter.restore({ gatewayPid: 7, counters: { env_a: [100, 0, 0, 0] } }, -3_600_000)
    counter.hello(7, 0)
    counter.traffic([sample(90_100)])
    expect(counter.take(1_000)).toBeNull()
    counter.traffic([sample(90_120)])
    expect(counter.take(11_000)!('env_a')).toMatchObject({ requests: 20, seconds: 10 })
    expect(counter.totals.requests).toBe(90_020)
  })

  it('treats lower counters of the same gateway as a route that was added again', () => {
    const counter = new IngressCounter(periodMs)
    counter.hello(1, 0)
    counter.traffic([sample(50)])
    counter.take(10_000)
    counter.traffic([sample(3)])
    expect(counter.take(20_000)!('env_a').requests).toBe(3)
  })

  it('takes no sample shorter than the reporting interval of the gateway', () => {
    const counter = new IngressCounter(250)
    counter.hello(1, 0)
    counter.traffic([sample(8)])
    expect(counter.take(250)).toBeNull()
    expect(counter.take(1_000)!('env_a')).toMatchObject({ requests: 8, seconds: 1 })
  })
})
