import { existsSync } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import http from 'node:http'
import net from 'node:net'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { runGateway } from '../../../src/gateway/gateway.ts'
import type { TrafficSample } from '../../../src/metrics/traffic-sample.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import {
  afterwards,
  appRoute,
  controlPlane,
  functionRoute,
  get,
  rawConnection,
  silent,
  startGateway,
  temporaryHome,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { gatewayOnTestClock } from '../../../testkit/gateway/on-test-clock.ts'
import { until } from '../../../testkit/until.ts'

const F = 'f.fn.localhost'

describe('link to the control plane', () => {
  it('keeps serving while the control plane is away, and tells and hears everything when one comes back', async () => {
    const container = await upstream()
    const gone = await upstream()
    const { port, link, heard, socketPath } = await startGateway([
      functionRoute([container.container('one'), gone.container('gone', true)]),
    ])
    await until(() => heard.drained.length === 1)
    let stop = false
    const statuses = new Set<number>()
    const client = async () => {
      while (!stop) statuses.add((await get(port, F)).status)
    }
    const clients = [client(), client(), client()]
    await until(() => container.total > 20)
    link.close()
    const before = container.total
    await until(() => container.total > before + 50, 'traffic without a control plane')
    const second = controlPlane(socketPath)
    second.link.setRoutes([
      functionRoute([container.container('one'), gone.container('gone', true)]),
      appRoute([container.container('two')]),
    ])
    await until(() => second.heard.desired.length > 0, 'desired, sent again')
    await until(() => second.heard.drained.includes('gone'), 'drained, sent again')
    stop = true
    await Promise.all(clients)
    expect([...statuses]).toEqual([200])
    expect((await get(port, 'a.app.localhost')).status).toBe(200)
  })

  it('keeps routes, requests and counters when a control plane comes back that does not know its routes yet', async () => {
    const answers: (() => void)[] = []
    const container = await upstream((request, response) => {
      if (request.url === '/slow') answers.push(() => response.end('done'))
      else response.end()
    })
    const routes = [functionRoute([container.container('one')], { containerConcurrency: 1, maxScale: 1 })]
    const { port, link, socketPath } = await startGateway(routes)
    for (let request = 0; request < 5; request += 1) await get(port, F)
    link.close()
    const underWay = get(port, F, { path: '/slow' })
    await until(() => answers.length === 1, 'a request under way')
    const waiting = get(port, F, { path: '/slow' })
    const second = controlPlane(socketPath)
    await until(() => second.heard.up > 0, 'linked')
    await until(() => second.heard.traffic.at(-1)?.queued === 1, 'traffic sent before any route')
    second.link.setRoutes(routes)
    answers[0]!()
    expect((await underWay).status).toBe(200)
    await until(() => answers.length === 2, 'the one that waited')
    answers[1]!()
    expect((await waiting).status).toBe(200)
    await until(() => second.heard.traffic.at(-1)?.inFlight === 0, 'all done')
    expect(second.heard.traffic.at(-1)).toMatchObject({ requests: 7 })
  })

  it('gives up no container while no control plane is connected', async () => {
    let answer: () => void = () => {}
    const container = await upstream((request, response) => {
      if (request.url !== '/held') response.end('ok')
      else answer = () => response.end('ok')
    })
    const clock = new TestClock()
    const { port, link, socketPath } = await startGateway(
      [functionRoute([container.container('one')], { idleTimeoutSeconds: 300_000 })],
      { clockScale: 3000, clock },
    )
    const held = get(port, F, { path: '/held' })
    await until(() => container.now === 1, 'a request in flight')
    // An idle period of 100 ms from now on. The request keeps the container until the link is down.
    link.setRoutes([functionRoute([container.container('one')], { idleTimeoutSeconds: 300 })])
    link.close()
    await until(() => !link.isUp, 'the link is down')
    answer()
    expect((await held).status).toBe(200)
    // After one more round trip the gateway has seen the end of the link too.
    expect((await get(port, 'a.app.localhost')).status).toBe(404)
    await clock.advance(400)
    expect((await get(port, F)).status).toBe(200)
    const second = controlPlane(socketPath)
    second.link.setRoutes([functionRoute([container.container('one')], { idleTimeoutSeconds: 300 })])
    await clock.advanceUntil(() => second.heard.drained.includes('one'), 'given up once there is one')
  })

  it('reconnects by itself and sends the routes again', async () => {
    const container = await upstream()
    const home = await temporaryHome()
    const socketPath = `${home}/gw.sock`
    const { link, heard } = controlPlane(socketPath)
    link.setRoutes([functionRoute([container.container('one')])])
    link.setRoute(appRoute([container.container('two')]))
    const options = {
      socketPath,
      host: '127.0.0.1',
      port: 0,
      clockScale: 1,
      build: 'b1',
      log: silent,
      clock: systemClock,
    }
    for (let life = 1; life <= 2; life++) {
      const gateway = await runGateway({ ...options, drainSeconds: 0.1 })
      await until(() => heard.up === life, `link in life ${life}`)
      await until(() => heard.desired.length >= life)
      expect((await get(gateway.port, F)).status).toBe(200)
      expect((await get(gateway.port, 'a.app.localhost')).status).toBe(200)
      gateway.shutdown('test')
      await gateway.closed
      await until(() => heard.down === life)
    }
  })

  it('listens to the newest control plane only', async () => {
    const container = await upstream()
    const { port, heard, socketPath } = await startGateway([])
    const second = controlPlane(socketPath)
    await until(() => second.heard.up > 0 && heard.down > 0, 'replaced')
    second.link.close()
    await until(() => heard.up > 1, 'the first is back')
    second.link.setRoutes([functionRoute([container.container('one')])])
    expect((await get(port, F)).status).toBe(404)
  })

  it('answers 503, not 404, before it has heard any route', async () => {
    const home = await temporaryHome()
    const gateway = await runGateway({
      socketPath: `${home}/gw.sock`,
      host: '127.0.0.1',
      port: 0,
      clockScale: 1,
      build: 'b1',
      log: silent,
      clock: systemClock,
    })
    afterwards(() => gateway.shutdown('test'))
    expect((await get(gateway.port, F)).status).toBe(503)
  })

  it('makes its socket private and survives nonsense on it', async () => {
    const { port, socketPath } = await startGateway([])
    expect(((await stat(socketPath)).mode & 0o777).toString(8)).toBe('600')
    const stranger = net.connect(socketPath)
    stranger.on('error', () => {})
    stranger.write('{"type":"hello","build":"b1"}\nnonsense\n')
    await new Promise((resolve) => stranger.on('close', resolve))
    expect((await get(port, F)).status).toBe(404)
  })

  it('counts requests, errors and response times', async () => {
    const container = await upstream((request, response) => {
      response.statusCode = Number(request.url!.slice(1))
      response.end()
    })
    const { clock, port, heard } = await gatewayOnTestClock([functionRoute([container.container('one')])])
    for (const status of [200, 200, 201, 404, 400, 500]) await get(port, F, { path: `/${status}` })
    const client = rawConnection(port)
    client.socket.write(`GET /200 HTTP/1.1\r\nHost: ${F}\r\n\r\n`)
    const isCounted = () => heard.traffic.at(-1)?.requests === 7 && heard.traffic.at(-1)?.inFlight === 0
    await clock.advanceUntil(isCounted, 'all requests in the counters')
    const last = heard.traffic.at(-1) as TrafficSample
    expect(last).toMatchObject({ appEnvId: 'env_f', answered4xx: 2, answered5xx: 1, queued: 0 })
    const timed = heard.traffic.flatMap((sample) => Object.values(sample.latency)).reduce((a, b) => a + b, 0)
    expect(timed).toBe(7)
    const samples = heard.traffic.length
    await clock.advance(5_000)
    expect(heard.traffic.length).toBe(samples)
  })
})

describe('leaving', () => {
  it('finishes requests in flight, takes no new ones, and ends', async () => {
    let end: () => void = () => {}
    const container = await upstream((_request, response) => {
      response.write('begun ')
      end = () => response.end('done')
    })
    const { gateway, port, link, socketPath } = await startGateway(
      [functionRoute([container.container('one')])],
      {
        drainSeconds: 20,
      },
    )
    const idle = rawConnection(port)
    idle.socket.write(`GET / HTTP/1.1\r\nHost: x.fn.localhost\r\n\r\n`)
    await until(() => idle.text.includes('404'))
    const agent = new http.Agent({ keepAlive: true })
    afterwards(() => agent.destroy())
    const last = get(port, F, { agent })
    await until(() => container.now === 1)
    link.shutdown()
    await until(() => idle.ended, 'idle connection closed')
    expect(existsSync(socketPath)).toBe(false)
    await expect(get(port, F)).rejects.toThrow('ECONNREFUSED')
    end()
    expect((await last).body).toBe('begun done')
    await gateway.closed
  })

  it('leaves at the end of the drain time even if a request does not end', async () => {
    const container = await upstream(() => {})
    const { gateway, port } = await startGateway([functionRoute([container.container('one')])], {
      drainSeconds: 0.2,
    })
    const stuck = get(port, F).catch((error) => error.code)
    await until(() => container.now === 1)
    gateway.shutdown('test')
    await gateway.closed
    expect(await stuck).toBe('ECONNRESET')
  })

  it('shuts down when its data directory is gone', async () => {
    const { gateway, home } = await startGateway([])
    await rm(home, { recursive: true })
    await gateway.closed
  })

  it('makes way for another build', async () => {
    const { gateway, socketPath } = await startGateway([])
    controlPlane(socketPath, 'b2')
    await gateway.closed
  })

  it('says when its port is taken', async () => {
    const { port, home } = await startGateway([])
    const second = runGateway({
      socketPath: `${home}/other.sock`,
      host: '127.0.0.1',
      port,
      clockScale: 1,
      build: 'b1',
      log: silent,
      clock: systemClock,
    })
    await expect(second).rejects.toThrow(`port ${port} is already taken on 127.0.0.1`)
  })
})
