import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import http from 'node:http'
import { beforeAll, describe, expect, it } from 'vitest'
import type { FunctionScaling, Route } from '../../../src/gateway/control/protocol.ts'
import { ensureGateway } from '../../../src/gateway/control/spawn.ts'
import { ownerOf } from '../../../src/gateway/workers/messages.ts'
import {
  afterwards,
  controlPlane,
  functionRoute,
  get,
  rawConnection,
  silent,
  temporaryHome,
  type Upstream,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { gatewayProgram } from '../../../testkit/gateway/program.ts'
import { until } from '../../../testkit/until.ts'

const processes = 3
let program = ''

beforeAll(async () => {
  const made = await gatewayProgram()
  program = made.program
  return made.remove
})

/** A function that the process of this number serves. */
function nameOwnedBy(owner: number, nth = 0): string {
  const names = Array.from({ length: 200 }, (_, index) => `f${index}`)
  return names.filter((name) => ownerOf(`env_${name}`, processes) === owner)[nth]!
}

function routeOf(name: string, containers: Upstream[], change: Partial<FunctionScaling> = {}): Route {
  const named = containers.map((container, index) => container.container(`${name}-${index}`))
  return functionRoute(named, change, { appEnvId: `env_${name}`, envName: name })
}

const hostOf = (name: string) => `${name}.fn.localhost`
const owners = Array.from({ length: processes }, (_, owner) => owner)

async function startGateway(routes: Route[], clockScale = 1) {
  const home = await temporaryHome()
  const socketPath = `${home}/gw.sock`
  const entry = [process.execPath, program]
  const wanted = { entry, home, socketPath, host: '127.0.0.1', port: 0, clockScale, build: 'b1', log: silent }
  const running = await ensureGateway({ ...wanted, processes })
  afterwards(async () => {
    if (alive(running.pid)) process.kill(running.pid, 'SIGKILL')
    await until(() => !alive(running.pid), 'end of the gateway')
  })
  const { link, heard } = controlPlane(socketPath)
  link.setRoutes(routes)
  await until(() => heard.up > 0, 'link')
  for (const { envName } of routes) {
    await until(() => heard.desired.some(([appEnvId]) => appEnvId === `env_${envName}`), `word of ${envName}`)
  }
  return { ...running, link, heard, wanted, members: membersOf(running.pid) }
}

function membersOf(pid: number): number[] {
  const text = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
  return text.trim().split(/\s+/).map(Number)
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function slow(_request: unknown, response: { end(text: string): void }): void {
  setTimeout(() => response.end('ok'), 20)
}

describe('a gateway of several processes', () => {
  it('gives every process its share, always the same', () => {
    const counts = [0, 0, 0, 0]
    for (let index = 0; index < 4000; index++) counts[ownerOf(`env_${index}x`, 4)]!++
    for (const count of counts) expect(count).toBeGreaterThan(800)
    expect(ownerOf('env_abc', 4)).toBe(ownerOf('env_abc', 4))
  })

  it('serves functions of all processes on one kept connection, pipelined too', async () => {
    const names = owners.map((owner) => nameOwnedBy(owner))
    const containers = await Promise.all(names.map((name) => upstream((_q, response) => response.end(name))))
    const { port, members } = await startGateway(
      names.map((name, index) => routeOf(name, [containers[index]!])),
    )
    expect(members).toHaveLength(processes - 1)
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
    afterwards(() => agent.destroy())
    for (let turn = 0; turn < 10; turn++) {
      for (const name of names) expect((await get(port, hostOf(name), { agent })).body).toBe(name)
      expect((await get(port, 'nobody.fn.localhost', { agent })).status).toBe(404)
    }
    const raw = rawConnection(port)
    const order = [0, 1, 2, 1, 0, 2, 2, 0].map((index) => names[index]!)
    raw.socket.write(order.map((name) => `GET / HTTP/1.1\r\nHost: ${hostOf(name)}\r\n\r\n`).join(''))
    const bodies = () =>
      raw.text
        .split('\r\n\r\n')
        .slice(1)
        .map((text) => /^f\d+/.exec(text)?.[0])
    await until(() => bodies().filter(Boolean).length === order.length, 'all answers')
    expect(bodies()).toEqual(order)
  })

  it('passes bodies and WebSockets on whole', async () => {
    const name = nameOwnedBy(1)
    const container = await upstream((request, response) => {
      const hash = createHash('sha1')
      response.setHeader('seen-from', String(request.headers['x-forwarded-for']))
      request.on('data', (piece) => hash.update(piece)).on('end', () => response.end(hash.digest('hex')))
    })
    container.server.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
      socket.on('data', (piece) => socket.write(piece)).on('error', () => {})
    })
    const { port } = await startGateway([routeOf(name, [container])])
    const body = Array.from({ length: 300_000 }, (_, index) => String(index)).join(' ')
    const digest = createHash('sha1').update(body).digest('hex')
    const answer = await get(port, hostOf(name), { method: 'POST', body })
    expect([answer.body, answer.headers['seen-from']]).toEqual([digest, '127.0.0.1'])
    const raw = rawConnection(port)
    const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n'
    raw.socket.write(`GET / HTTP/1.1\r\nHost: ${hostOf(name)}\r\n${upgrade}`)
    await until(() => raw.text.includes('101'), 'upgrade')
    raw.socket.write('hello')
    await until(() => raw.text.endsWith('hello'), 'echo')
  })

  it('F3 never exceeds containerConcurrency in any process, and answers everything', async () => {
    const names = [...owners, ...owners].map((owner, index) => nameOwnedBy(owner, index < processes ? 0 : 1))
    const pairs = await Promise.all(names.map(() => Promise.all([upstream(slow), upstream(slow)])))
    const settings = { containerConcurrency: 3, maxScale: 2 }
    const { port, heard } = await startGateway(
      names.map((name, index) => routeOf(name, pairs[index]!, settings)),
    )
    const failed: number[] = []
    const client = async (_: unknown, index: number) => {
      // Every other client keeps its connection, whose owner is another with each request.
      const agent = index % 2 ? new http.Agent({ keepAlive: true, maxSockets: 1 }) : undefined
      for (let turn = 0; turn < 5; turn++) {
        const host = hostOf(names[(index + turn) % names.length]!)
        const { status } = await get(port, host, agent ? { agent } : {})
        if (status !== 200) failed.push(status)
      }
      agent?.destroy()
    }
    await Promise.all(Array.from({ length: 180 }, client))
    expect(failed).toEqual([])
    expect(pairs.flat().map((container) => container.most)).toEqual(pairs.flat().map(() => 3))
    await until(
      () => names.every((name) => lastSample(heard.traffic, name)?.requests === 150),
      'counters of every function',
    )
  })

  it('continues when one of its processes is killed, and still serves its functions', async () => {
    const names = owners.map((owner) => nameOwnedBy(owner))
    const containers = await Promise.all(names.map(() => upstream(slow)))
    const routes = names.map((name, index) =>
      routeOf(name, [containers[index]!], { containerConcurrency: 2 }),
    )
    const { port, members, pid, link } = await startGateway(routes)
    process.kill(members[0]!, 'SIGKILL')
    await until(() => !alive(members[0]!), 'end of the member')
    const clients = Array.from({ length: 60 }, (_, index) => get(port, hostOf(names[index % 3]!)))
    for (const { status } of await Promise.all(clients)) expect(status).toBe(200)
    for (const container of containers) expect(container.most).toBeLessThanOrEqual(2)
    await until(() => membersOf(pid).length === processes - 1, 'another process in its place')
    // What moved stays where it is, also when the control plane speaks of it again.
    link.setRoutes(routes)
    await Promise.all(Array.from({ length: 60 }, (_, index) => get(port, hostOf(names[index % 3]!))))
    for (const container of containers) expect(container.most).toBeLessThanOrEqual(2)
  })

  it('drains all of them on SIGTERM: requests in flight end, then nothing is left', async () => {
    const names = owners.map((owner) => nameOwnedBy(owner))
    const open: (() => void)[] = []
    const held = (_request: unknown, response: http.ServerResponse) => open.push(() => response.end('done'))
    const containers = await Promise.all(names.map(() => upstream(held)))
    const { port, pid, members } = await startGateway(
      names.map((name, index) => routeOf(name, [containers[index]!])),
    )
    const idle = rawConnection(port)
    const answers = names.map((name) => get(port, hostOf(name)))
    await until(() => open.length === names.length, 'requests in flight')
    process.kill(pid, 'SIGTERM')
    await until(() => idle.ended, 'end of an idle connection')
    expect([pid, ...members].every(alive)).toBe(true)
    for (const end of open) end()
    for (const { body } of await Promise.all(answers)) expect(body).toBe('done')
    await until(() => ![pid, ...members].some(alive), 'end of all processes')
  })

  it('leaves no process behind when the first is killed, not even one that just starts', async () => {
    const { pid, members } = await startGateway([])
    process.kill(members[0]!, 'SIGKILL')
    const young = () => membersOf(pid).filter((member) => !members.includes(member) && alive(member))
    await until(() => young().length > 0, 'another process in its place')
    const all = [...members, ...young()]
    process.kill(pid, 'SIGKILL')
    await until(() => !all.some(alive), 'end of the others')
  })

  it('F1 gives containers up in every process, but only while a control plane hears it', async () => {
    const name = nameOwnedBy(2)
    let answer: () => void = () => {}
    const container = await upstream((request, response) => {
      if (request.url !== '/held') response.end('ok')
      else answer = () => response.end('ok')
    })
    const { port, link, wanted } = await startGateway(
      [routeOf(name, [container], { idleTimeoutSeconds: 1_000_000 })],
      10_000,
    )
    const held = get(port, hostOf(name), { path: '/held' })
    await until(() => container.now === 1, 'a request in flight')
    // An idle period of 90 ms from now on. The request keeps the container until the link is down.
    const routes = [routeOf(name, [container])]
    link.setRoutes(routes)
    link.close()
    await until(() => !link.isUp, 'the link is down')
    answer()
    expect((await held).status).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect((await get(port, hostOf(name))).status).toBe(200)
    const second = controlPlane(wanted.socketPath)
    second.link.setRoutes(routes)
    await until(() => second.heard.drained.includes(`${name}-0`), 'the container given up')
    expect(second.heard.desired.at(-1)).toEqual([`env_${name}`, 0])
  })

  it('is replaced when the number of processes is another', async () => {
    const { pid, wanted, link, members } = await startGateway([])
    link.close()
    const next = await ensureGateway({ ...wanted, processes: 1 })
    afterwards(async () => {
      process.kill(next.pid, 'SIGKILL')
      await until(() => !alive(next.pid), 'end of the gateway')
    })
    expect(next.adopted).toBe(false)
    await until(() => ![pid, ...members].some(alive), 'end of the predecessor')
  })
})

function lastSample(samples: readonly { appEnvId: string; requests: number }[], name: string) {
  return samples.filter(({ appEnvId }) => appEnvId === `env_${name}`).at(-1)
}
