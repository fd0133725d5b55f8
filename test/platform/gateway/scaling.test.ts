import { describe, expect, it } from 'vitest'
import type { FromGateway } from '../../../src/gateway/control/protocol.ts'
import type { Backend } from '../../../src/gateway/routing/backend.ts'
import { RequestScheduler } from '../../../src/gateway/routing/request-scheduler.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import {
  afterwards,
  functionRoute,
  get,
  held,
  startGateway,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { gatewayOnTestClock } from '../../../testkit/gateway/on-test-clock.ts'
import { until } from '../../../testkit/until.ts'

const F = 'f.fn.localhost'

function slow(_request: unknown, response: { end(text: string): void }): void {
  setTimeout(() => response.end('ok'), 20)
}

describe('scaling', () => {
  it('F3 asks for a container before the last slot is taken', async () => {
    const { container, letGo } = await held()
    const { port, heard } = await startGateway([functionRoute([container.container('one')])])
    const answers = Array.from({ length: 7 }, () => get(port, F))
    await until(() => container.now === 7)
    await until(() => heard.traffic.at(-1)?.inFlight === 7)
    expect(heard.desired.at(-1)).toEqual(['env_f', 1])
    answers.push(get(port, F))
    await until(() => heard.desired.at(-1)?.[1] === 2, 'second container')
    expect(container.now).toBeLessThan(10)
    letGo()
    await Promise.all(answers)
  })

  it('F1 scales to zero after the idle period, never with a request in flight, and comes back', async () => {
    const { container, letGo } = await held()
    // 300 s at this scale are 300 ms.
    const route = functionRoute([container.container('one')], { idleTimeoutSeconds: 300 })
    const { clock, port, take, heard } = await gatewayOnTestClock([route], { clockScale: 1000 })
    const long = get(port, F)
    await until(() => container.now === 1)
    await clock.advance(700)
    expect(heard.drained).toEqual([])
    expect(heard.desired.at(-1)?.[1]).toBe(1)
    letGo()
    expect((await long).status).toBe(200)
    await clock.advance(290)
    expect(heard.drained).toEqual([])
    await clock.advance(20)
    expect(heard.drained).toEqual(['one'])
    expect(heard.desired.at(-1)).toEqual(['env_f', 0])
    // Given up is given up: even while it is still in the routes it gets nothing more.
    const next = get(port, F)
    await clock.advanceUntil(() => heard.desired.at(-1)?.[1] === 1, 'a desired container again')
    expect(container.now).toBe(0)
    const containers = [container.container('one'), container.container('two')]
    take({ type: 'route', route: { ...route, containers } })
    await until(() => container.now === 1)
    letGo()
    expect((await next).status).toBe(200)
  })

  it('does not flap under an hour of a square-wave load, and gives up the surplus once it is over', async () => {
    const clock = new TestClock()
    const said: number[] = []
    const report = (message: FromGateway) => {
      if (message.type === 'desired') said.push(message.containers)
    }
    const environment = new RequestScheduler(functionRoute([]), {
      clock,
      clockScale: 1,
      linked: () => true,
      report,
    })
    afterwards(() => environment.remove())
    const follow = () => {
      const names = Array.from({ length: said.at(-1) ?? 0 }, (_, index) => `c${index}`)
      environment.update(
        functionRoute(names.map((name) => ({ name, host: '127.0.0.1', port: 1, draining: false }))),
      )
    }
    const held: Backend[] = []
    const load = async (requests: number) => {
      while (held.length > requests) environment.release(held.pop()!)
      for (let more = requests - held.length; more > 0; more--) {
        environment.admit({ assigned: (container) => held.push(container), refused: () => {} })
      }
      await clock.advance(100)
      follow()
    }
    for (let second = 0; second < 3600; second++) {
      // 20 s of 24 requests at once, 20 s of one.
      if (second % 20 === 0) await load(second % 40 < 20 ? 24 : 1)
      else await clock.advance(1_000)
      if (environment.awake) environment.evaluate()
    }
    expect(said).toEqual([0, 3])
    await load(0)
    for (let second = 0; second < 1000; second++) {
      await clock.advance(1_000)
      if (environment.awake) environment.evaluate()
    }
    expect(said).toEqual([0, 3, 1, 0])
  })

  it('F11 keeps minScale warm', async () => {
    const containers = await Promise.all([upstream(), upstream()])
    const all = containers.map((container, index) => container.container(`c${index}`))
    const route = functionRoute(all, { minScale: 1 })
    const { clock, port, heard } = await gatewayOnTestClock([route], { clockScale: 10_000 })
    await get(port, F)
    // More than ten idle periods.
    await clock.advance(1_000)
    expect(heard.drained).toHaveLength(1)
    expect(heard.desired.at(-1)).toEqual(['env_f', 1])
    expect((await get(port, F)).status).toBe(200)
  })

  it('gives up only idle containers when it scales down, without one failed request', async () => {
    const containers = await Promise.all([upstream(slow), upstream(slow), upstream(slow)])
    const all = containers.map((container, index) => container.container(`c${index}`))
    const { port, heard } = await startGateway([functionRoute(all, { idleTimeoutSeconds: 100_000 })], {
      clockScale: 200,
    })
    const drainedAt: number[] = []
    let stop = false
    const failures: number[] = []
    const client = async () => {
      while (!stop) {
        const { status } = await get(port, F)
        if (status !== 200) failures.push(status)
        const gone = heard.drained.map((name) => containers[Number(name[1])]!)
        for (const [index, container] of gone.entries()) {
          drainedAt[index] ??= container.total
          // A container that was reported empty never sees another request.
          if (container.now > 0 || container.total !== drainedAt[index]) failures.push(index)
        }
      }
    }
    await Promise.all(Array.from({ length: 20 }, () => get(port, F)))
    const two = [client(), client()]
    await until(() => heard.drained.length === 2, 'two given up under load')
    const served = () => containers.reduce((sum, { total }) => sum + total, 0)
    const before = served()
    await until(() => served() >= before + 10, 'requests after that')
    stop = true
    await Promise.all(two)
    expect(failures).toEqual([])
    expect(heard.desired.at(-1)).toEqual(['env_f', 1])
  })
})

describe('draining', () => {
  it('gives a draining container nothing new and says when it is empty', async () => {
    const old = await held()
    const fresh = await upstream()
    const { port, link, heard } = await startGateway([functionRoute([old.container.container('old')])])
    const last = get(port, F)
    await until(() => old.container.now === 1)
    link.setRoute(functionRoute([old.container.container('old', true), fresh.container('fresh')]))
    for (let index = 0; index < 10; index++) expect((await get(port, F)).status).toBe(200)
    expect(old.container.total).toBe(1)
    expect(heard.drained).toEqual([])
    old.letGo()
    expect((await last).status).toBe(200)
    await until(() => heard.drained.length === 1)
    expect(heard.drained).toEqual(['old'])
  })

  it('lets requests in flight finish when their container or their route goes', async () => {
    const { container, letGo } = await held()
    const { port, link } = await startGateway([functionRoute([container.container('one')])])
    const first = get(port, F)
    await until(() => container.now === 1)
    link.setRoute(functionRoute([container.container('two')]))
    const second = get(port, F)
    await until(() => container.now === 2)
    link.dropRoute('env_f')
    while ((await get(port, F)).status !== 404) await new Promise((resolve) => setTimeout(resolve, 2))
    letGo()
    expect([(await first).status, (await second).status]).toEqual([200, 200])
    expect((await get(port, F)).status).toBe(404)
  })

  it('answers 503 to those waiting when the environment is stopped', async () => {
    const { port, link, heard } = await startGateway([functionRoute([])])
    const waiting = get(port, F)
    await until(() => heard.desired.at(-1)?.[1] === 1)
    link.setRoute(functionRoute([], {}, { state: 'stopped' }))
    const answer = await waiting
    expect([answer.status, JSON.parse(answer.body).error]).toEqual([503, 'Stopped'])
    await until(() => heard.desired.at(-1)?.[1] === 0)
  })
})
