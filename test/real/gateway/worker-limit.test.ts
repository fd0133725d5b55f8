import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { beforeAll, expect, it } from 'vitest'
import { ensureGateway } from '../../../src/gateway/control/spawn.ts'
import { ownerOf } from '../../../src/gateway/workers/messages.ts'
import {
  afterwards,
  controlPlane,
  functionRoute,
  rawConnection,
  silent,
  temporaryHome,
  upstream,
} from '../../../testkit/gateway/harness.ts'
import { gatewayProgram } from '../../../testkit/gateway/program.ts'
import { until } from '../../../testkit/until.ts'

const processes = 2
/** Of each process of the gateway: a third of them are for clients. */
const openFiles = 150
const limit = openFiles / 3
let program = ''

beforeAll(async () => {
  const made = await gatewayProgram()
  program = made.program
  return made.remove
})

/** A gateway whose worker serves the function, and the process id of the worker. */
async function startGateway(name: string) {
  const container = await upstream((_request, response) => setTimeout(() => response.end('ok'), 5))
  const home = await temporaryHome()
  const socketPath = `${home}/gw.sock`
  const running = await ensureGateway({
    entry: ['/bin/sh', '-c', `ulimit -n ${openFiles} && exec "$@"`, 'sh', process.execPath, program],
    home,
    socketPath,
    host: '127.0.0.1',
    port: 0,
    clockScale: 1,
    build: 'b1',
    log: silent,
    processes,
  })
  afterwards(() => process.kill(running.pid, 'SIGKILL'))
  const { link, heard } = controlPlane(socketPath)
  const scaling = { containerConcurrency: 0, idleTimeoutSeconds: 100_000 }
  const route = { appEnvId: `env_${name}`, envName: name }
  link.setRoutes([functionRoute([container.container('one')], scaling, route)])
  await until(() => heard.desired.length > 0, 'the route')
  const worker = execFileSync('ps', ['-o', 'pid=', '--ppid', String(running.pid)], {
    encoding: 'utf8',
  }).trim()
  return { port: running.port, worker }
}

const openFilesOf = (pid: string) => readdirSync(`/proc/${pid}/fd`).length

it('a worker that is flooded with connections keeps files for its work, answers its clients, and leaks none', async () => {
  const name = Array.from({ length: 100 }, (_, index) => `f${index}`).find(
    (candidate) => ownerOf(`env_${candidate}`, processes) === 1,
  )!
  const { port, worker } = await startGateway(name)
  const before = openFilesOf(worker)
  const request = `GET / HTTP/1.1\r\nHost: ${name}.fn.localhost\r\n\r\n`
  const ask = async (client: ReturnType<typeof rawConnection>) => {
    const { bytes } = client
    client.socket.write(request)
    await until(() => client.bytes > bytes || client.closed, 'an answer')
  }
  const clients: ReturnType<typeof rawConnection>[] = []
  for (let index = 0; index < 2 * openFiles; index += 1) {
    const client = rawConnection(port)
    clients.push(client)
    await ask(client)
  }
  const served = clients.filter(({ text }) => text.endsWith('ok'))
  expect(served).toHaveLength(limit)

  // All at once: each needs a connection to the container.
  await Promise.all(served.map(ask))
  expect(served.filter(({ text }) => text.split('HTTP/1.1 200 OK').length === 3)).toHaveLength(limit)

  for (const { socket } of clients) socket.destroy()
  await until(() => openFilesOf(worker) <= before, 'the files of the flood closed')
  const next = rawConnection(port)
  await ask(next)
  expect(next.text).toMatch(/ok$/)
})
