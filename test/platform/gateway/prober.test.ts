import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { HttpProber } from '../../../src/gateway/control/prober.ts'
import { until } from '../../../testkit/until.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A prober in front of a server of ours that stands for the gateway. */
async function proberOf(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  running: () => number = () => 1,
) {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(
    () => server.closeAllConnections(),
    () => server.close(),
  )
  const { port } = server.address() as AddressInfo
  const ingress = () => ({ host: '127.0.0.1', port })
  const prober = new HttpProber({ clock: systemClock, ingress, running: async () => running() })
  return Object.assign(prober, { ingress })
}

const order = { appEnvId: 'env_1', host: 'fn.fn.localhost', path: '/a?b=1', requests: 100, concurrency: 8 }

describe('a probe of a function', () => {
  it('sends the configured number of requests, never more in parallel than configured', async () => {
    let now = 0
    let most = 0
    const seen = new Set<string>()
    let requests = 0
    const prober = await proberOf((request, response) => {
      now += 1
      requests += 1
      most = Math.max(most, now)
      seen.add(`${request.method} ${request.headers.host} ${request.url}`)
      setTimeout(() => {
        now -= 1
        response.end('ok')
      }, 3)
    })
    const outcome = await prober.probe(order)
    expect([...seen]).toEqual(['GET fn.fn.localhost /a?b=1'])
    expect(requests).toBe(100)
    expect(most).toBe(8)
    expect(outcome.levels.map((level) => level.concurrency)).toEqual([1, 2, 4, 8])
    expect(outcome.levels.reduce((sum, level) => sum + level.ok, 0)).toBe(99)
    expect(outcome).toMatchObject({ cutShort: false, containersBefore: 1, first: { ok: true } })
    for (const { p50Seconds, p95Seconds } of outcome.levels) {
      expect(p50Seconds).toBeGreaterThan(0.002)
      expect(p95Seconds).toBeGreaterThanOrEqual(p50Seconds)
    }
  })

  it('raises no warning of Node, however many requests are under way', async () => {
    const warnings: string[] = []
    const hear = (warning: Error) => warnings.push(warning.name)
    process.on('warning', hear)
    closers.push(() => process.off('warning', hear))
    const prober = await proberOf((_request, response) => setTimeout(() => response.end(), 3))
    await prober.probe({ ...order, concurrency: 40 })
    expect(warnings).toEqual([])
  })

  it('tells refusals, errors and missing answers apart, and sees containers come', async () => {
    let requests = 0
    let containers = 0
    const prober = await proberOf(
      (_request, response) => {
        requests += 1
        containers = requests < 50 ? 1 : 2
        const turn = requests % 5
        if (turn === 0) response.writeHead(503, { 'retry-after': '1' }).end()
        else if (turn === 1) response.writeHead(500).end()
        else if (turn === 2) response.writeHead(404).end()
        else if (turn === 3) response.destroy()
        else response.end()
      },
      () => containers,
    )
    const { levels, containersBefore, mostContainers } = await prober.probe(order)
    const sum = (key: 'ok' | 'answered4xx' | 'answered5xx' | 'refused' | 'failed') =>
      levels.reduce((total, level) => total + level[key], 0)
    for (const key of ['ok', 'answered4xx', 'answered5xx', 'refused', 'failed'] as const) {
      expect(sum(key), key).toBeGreaterThan(15)
    }
    expect([containersBefore, levels[0]?.containers, mostContainers]).toEqual([0, 1, 2])
  })

  it('refuses a second probe of the same function, and a third in all', async () => {
    const waiting: ServerResponse[] = []
    const prober = await proberOf((_request, response) => waiting.push(response))
    const first = prober.probe({ ...order, requests: 1, concurrency: 1 })
    await expect(prober.probe(order)).rejects.toMatchObject({ kind: 'conflict' })
    const second = prober.probe({ ...order, appEnvId: 'env_2', requests: 1, concurrency: 1 })
    await expect(prober.probe({ ...order, appEnvId: 'env_3' })).rejects.toMatchObject({ kind: 'conflict' })
    await until(() => waiting.length === 2, 'both requests')
    for (const response of waiting) response.end()
    await Promise.all([first, second])
    const again = prober.probe({ ...order, requests: 1, concurrency: 1 })
    await until(() => waiting.length === 3, 'the next request')
    waiting[2]?.end()
    expect((await again).first.ok).toBe(true)
  })

  it('ends when the time is over, and says so', async () => {
    const ends: (() => void)[] = []
    const clock = {
      ...systemClock,
      after(delayMs: number, task: () => void) {
        if (delayMs < 10_000) return systemClock.after(delayMs, task)
        ends.push(task)
        return () => {}
      },
    }
    const answering = await proberOf((_request, response) => {
      if (ends.length > 0) setImmediate(() => ends.pop()?.())
      response.flushHeaders()
    })
    const prober = new HttpProber({ clock, ingress: answering.ingress, running: async () => 0 })
    const outcome = await prober.probe(order)
    expect(outcome).toMatchObject({ cutShort: true, first: { ok: false }, levels: [] })
  })
})
