import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import type { Backend } from '../../../src/gateway/routing/backend.ts'
import { RequestScheduler } from '../../../src/gateway/routing/request-scheduler.ts'
import {
  type Answer,
  afterwards,
  functionRoute,
  get,
  held,
  rawConnection,
  startGateway,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { until } from '../../../testkit/until.ts'

const F = 'f.fn.localhost'

describe('cold start', () => {
  it('F2 holds a request at zero until the container is there', async () => {
    const container = await upstream()
    const { port, link, heard } = await startGateway([functionRoute([])])
    const answer = get(port, F)
    await until(() => heard.desired.some(([, count]) => count === 1), 'a desired container')
    link.setRoute(functionRoute([container.container('one')]))
    expect((await answer).status).toBe(200)
    expect(heard.desired).toEqual([
      ['env_f', 0],
      ['env_f', 1],
    ])
  })

  it('F2 makes one decision for a burst of 200 at zero, and answers all of it', async () => {
    const containers = await Promise.all([upstream(slow), upstream(slow), upstream(slow)])
    const { port, link, heard } = await startGateway([functionRoute([], { containerConcurrency: 20 })])
    const clients = Array.from({ length: 200 }, () => rawConnection(port))
    await until(() => clients.every((client) => client.socket.readyState === 'open'), 'connections')
    for (const client of clients) {
      client.socket.write(`GET / HTTP/1.1\r\nHost: ${F}\r\nConnection: close\r\n\r\n`)
    }
    await until(() => heard.desired.length > 1, 'desired containers')
    link.setRoute(
      functionRoute(
        containers.map((container, index) => container.container(`c${index}`)),
        { containerConcurrency: 20 },
      ),
    )
    await until(() => clients.every((client) => client.ended), 'all answers')
    expect(clients.filter((client) => !client.text.startsWith('HTTP/1.1 200'))).toEqual([])
    expect(heard.desired.slice(1)).toEqual([['env_f', 3]])
    for (const container of containers) expect(container.most).toBeLessThanOrEqual(20)
  })

  it('waiting requests get 503 with the message of a failed start, and the next request starts another attempt', async () => {
    const { port, link, heard } = await startGateway([functionRoute([])])
    const answer = get(port, F)
    await until(() => heard.desired.at(-1)?.[1] === 1)
    link.startFailed('env_f', 'The container exited with code 1.')
    const { status, body } = await answer
    expect(status).toBe(503)
    expect(JSON.parse(body)).toEqual({
      error: 'The function could not be started',
      details: 'The container exited with code 1.',
    })
    await until(() => heard.desired.at(-1)?.[1] === 0, 'no desired container')
    const next = get(port, F)
    await until(() => heard.desired.at(-1)?.[1] === 1, 'a desired container again')
    link.startFailed('env_f', 'Again.')
    await next
  })

  it('answers 504 when no container comes in time', async () => {
    const { port } = await startGateway([
      functionRoute([], { timeoutSeconds: 1, responseStartTimeoutSeconds: 1 }),
    ])
    expect((await get(port, F)).status).toBe(504)
  })

  it('holds the body of a request that waits, and delivers it whole', async () => {
    const container = await upstream((request, response) => {
      let length = 0
      request.on('data', (piece) => {
        length += piece.length
      })
      request.on('end', () => response.end(String(length)))
    })
    const { port, link, heard } = await startGateway([functionRoute([])])
    const answer = get(port, F, { method: 'POST', body: 'x'.repeat(3_000_000) })
    await until(() => heard.desired.at(-1)?.[1] === 1)
    link.setRoute(functionRoute([container.container('one')]))
    expect((await answer).body).toBe('3000000')
  })
})

function slow(_request: unknown, response: { end(text: string): void }): void {
  setTimeout(() => response.end('ok'), 20)
}

describe('concurrency', () => {
  it('never exceeds containerConcurrency under ten times the load', async () => {
    const containers = await Promise.all([upstream(slow), upstream(slow), upstream(slow)])
    const { port } = await startGateway([
      functionRoute(
        containers.map((container, index) => container.container(`c${index}`)),
        { containerConcurrency: 4 },
      ),
    ])
    const client = async () => {
      for (let turn = 0; turn < 5; turn++) expect((await get(port, F)).status).toBe(200)
    }
    await Promise.all(Array.from({ length: 120 }, client))
    expect(containers.map((container) => container.most)).toEqual([4, 4, 4])
    expect(containers.reduce((sum, container) => sum + container.total, 0)).toBe(600)
  })

  it('never exceeds it when clients leave, requests time out and containers answer early', async () => {
    const container = await upstream((request, response) => {
      if (request.url === '/early') response.end('early')
      else if (request.url !== '/never') setTimeout(() => response.end('ok'), 3)
    })
    const { port } = await startGateway([
      functionRoute([container.container('one')], { containerConcurrency: 3, maxScale: 1 }),
    ])
    const clients = Array.from({ length: 30 }, async (_, index) => {
      for (let turn = 0; turn < 10; turn++) {
        if (index % 3 === 0) {
          const client = rawConnection(port)
          client.socket.write(`POST /never HTTP/1.1\r\nHost: ${F}\r\nContent-Length: 9\r\n\r\nabc`)
          await new Promise((resolve) => setTimeout(resolve, 4))
          client.socket.destroy()
        } else if (index % 3 === 1) {
          const client = rawConnection(port)
          client.socket.write(`POST /early HTTP/1.1\r\nHost: ${F}\r\nContent-Length: 9\r\n\r\nabc`)
          await until(() => client.text.includes('early'), 'early answer')
          client.socket.destroy()
        } else expect((await get(port, F)).status).toBe(200)
      }
    })
    await Promise.all(clients)
    expect(container.most).toBeLessThanOrEqual(3)
    await until(() => container.now === 0, 'nothing left at the container')
    // No slot was lost either.
    expect(
      (await Promise.all([get(port, F), get(port, F), get(port, F)])).map((answer) => answer.status),
    ).toEqual([200, 200, 200])
  })

  it('hands freed slots over in the order of arrival, a refused connection before all others', () => {
    const host = { clock: systemClock, clockScale: 1, linked: () => true, report: () => {} }
    const one = { name: 'one', host: '127.0.0.1', port: 1, draining: false }
    const change = { containerConcurrency: 1, maxScale: 2 }
    const environment = new RequestScheduler(functionRoute([one], change), host)
    afterwards(() => environment.remove())
    const order: string[] = []
    const holds = new Map<string, Backend>()
    const waiter = (name: string) => ({
      assigned: (container: Backend) => {
        order.push(name)
        holds.set(name, container)
      },
      refused: () => order.push(`${name} refused`),
    })
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(waiter)
    for (const each of [a!, b!, c!, d!]) environment.admit(each)
    environment.leave(c!)
    environment.retryElsewhere(holds.get('a')!, a!)
    expect(order).toEqual(['a'])
    environment.update(functionRoute([one, { ...one, name: 'two', port: 2 }], change))
    expect(order).toEqual(['a', 'a'])
    expect(holds.get('a')!.name).toBe('two')
    environment.release(holds.get('a')!)
    environment.release(holds.get('b')!)
    expect(order).toEqual(['a', 'a', 'b', 'd'])
    expect(environment.queued).toBe(0)
  })

  it('has a bounded queue: 503 with Retry-After at once when it is full', async () => {
    const { container, letGo, waiting } = await held()
    const { port, heard } = await startGateway([
      functionRoute([container.container('one')], { containerConcurrency: 1, maxScale: 1 }),
    ])
    const first = Array.from({ length: 201 }, () => get(port, F))
    await until(() => heard.traffic.at(-1)?.queued === 200, 'full queue')
    const refused: Answer[] = []
    while (refused.length < 5) refused.push(await get(port, F))
    for (const { status, headers } of refused) {
      expect(status).toBe(503)
      expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    }
    // At once: a request that waited would get its answer only after 20 s.
    expect(Math.min(...refused.map(({ ms }) => ms))).toBeLessThan(10_000)
    const draining = setInterval(() => waiting() > 0 && letGo(), 1)
    const answers = await Promise.all(first)
    clearInterval(draining)
    expect(answers.every((answer) => answer.status === 200)).toBe(true)
    expect(container.most).toBe(1)
  })

  it('has no limit at containerConcurrency 0', async () => {
    const { container, letGo } = await held()
    const { port, heard } = await startGateway([
      functionRoute([container.container('one')], { containerConcurrency: 0 }),
    ])
    const answers = Array.from({ length: 80 }, () => get(port, F))
    await until(() => container.now === 80, 'all at once in one container')
    await until(() => heard.desired.at(-1)?.[1] === 2, 'spread at the soft target')
    letGo()
    await Promise.all(answers)
  })
})
