/**
 * Mixed traffic, deployments, and scale to zero and back on the process engine: memory (after a garbage
 * collection, because resident memory depends on Node's collector), open descriptors and timers of control
 * plane, gateway and supervisor, with their slope after the first third and a verdict.
 *
 *   npm run build && npm run bench -- soak [minutes, default 30]
 */
import http from 'node:http'
import type { Socket } from 'node:net'
import { availableEngines } from '../testkit/engines/available-engines.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../testkit/platform/deploy.ts'
import { Installation } from '../testkit/platform/installation.ts'
import { WatchedProcesses } from './soak/watched-processes.ts'

const minutes = Number(process.argv[2] ?? 30)
const sampleMs = Math.min(10_000, minutes * 1_500)
const deployEveryMs = 30_000
const visitEveryMs = 15_000
const loops = 8

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })

/** One request; 0 when it got no answer. */
function ask(port: number, host: string, path: string, body?: Buffer): Promise<number> {
  return new Promise((resolve) => {
    const method = body ? 'POST' : 'GET'
    const options = { port, host: '127.0.0.1', path, method, agent, headers: { host } }
    const startedMs = performance.now()
    const request = http.request(options, (response) => {
      response.resume()
      response.once('end', () => resolve(response.statusCode ?? 0)).once('error', failed)
      if (request.socket) usedMs.set(request.socket, performance.now())
    })
    const failed = (error: NodeJS.ErrnoException) => {
      const restedMs = request.socket && startedMs - (usedMs.get(request.socket) ?? Number.NaN)
      const reused = request.reusedSocket
        ? `a connection that rested ${restedMs?.toFixed(0)} ms`
        : 'a new one'
      const tookMs = (performance.now() - startedMs).toFixed(0)
      const why = `${method} ${path} ${error.code ?? error.message} after ${tookMs} ms on ${reused}`
      failures.set(why, (failures.get(why) ?? 0) + 1)
      resolve(0)
    }
    request.once('error', failed)
    request.end(body)
  })
}

/** When a connection carried its last answer. */
const usedMs = new WeakMap<Socket, number>()
/** Why requests got no answer. */
const failures = new Map<string, number>()
const statuses = new Map<number, number>()
function count(status: number): void {
  statuses.set(status, (statuses.get(status) ?? 0) + 1)
}

/** Small requests, slow ones, bodies of 1 MiB and clients that leave before their answer. */
async function traffic(port: number, host: string, over: () => boolean): Promise<void> {
  const body = Buffer.alloc(1024 * 1024, 'x')
  for (let index = 0; !over(); index++) {
    if (index % 50 === 0) count(await ask(port, host, '/', body))
    else if (index % 10 === 0) count(await ask(port, host, '/?ms=200'))
    else count(await ask(port, host, '/'))
    if (index % 40 === 0) {
      http
        .get({ port, host: '127.0.0.1', path: '/?ms=500', headers: { host } })
        .on('error', () => {})
        .setTimeout(50, function (this: http.ClientRequest) {
          this.destroy()
        })
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

async function every(periodMs: number, over: () => boolean, act: () => Promise<unknown>): Promise<void> {
  while (!over()) {
    await act()
    for (const endMs = performance.now() + periodMs; performance.now() < endMs && !over(); )
      await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const base = (await availableEngines()).find(({ engine }) => engine === 'process')?.base
if (!base) throw new Error('the process engine is not here')
const watched = new WatchedProcesses()
const settings = { LONGSHORE_ENGINE: 'process', LONGSHORE_CLOCK_SCALE: '100' }
const installation = new Installation({ ...watched.env, ...settings })
await installation.start()
try {
  const busy = await makeFunction(installation, 'busy')
  const seldom = await makeFunction(installation, 'seldom')
  for (const { appEnvId } of [busy, seldom]) {
    await deploy(installation, appEnvId, sampleSource(base))
    await untilDeployed(installation, appEnvId)
  }
  const port = Number(new URL(installation.ready.gateway).port)
  const startMs = performance.now()
  const over = () => performance.now() - startMs >= minutes * 60_000
  let deployments = 0
  await Promise.all([
    ...Array.from({ length: loops }, () => traffic(port, busy.host, over)),
    every(visitEveryMs, over, async () => count(await ask(port, seldom.host, '/'))),
    every(deployEveryMs, over, async () => {
      await deploy(installation, busy.appEnvId, sampleSource(base))
      await untilDeployed(installation, busy.appEnvId)
      deployments++
    }),
    every(sampleMs, over, () => watched.look(installation.home)),
  ])
  const counts = [...statuses].map(([status, times]) => `${times} x ${status || 'no answer'}`).join(', ')
  process.stdout.write(`${minutes} minutes, ${deployments} deployments; answers: ${counts}\n`)
  if ([...statuses.keys()].some((status) => status !== 200)) process.exitCode = 1
  for (const [why, times] of failures) process.stdout.write(`  no answer, ${times} x: ${why}\n`)
  if (!watched.judge()) process.exitCode = 1
} finally {
  agent.destroy()
  await installation.dispose()
  watched.close()
}
