/**
 * Mixed traffic, deployments, and scale to zero and back for some minutes on the process engine: memory and open
 * descriptors of control plane, gateway and supervisor, with their slope after the first third and a verdict.
 * Timers of another process cannot be read; one that leaked would hold memory.
 *
 * Run: npm run build && npm run bench -- soak [minutes, 30 unless told]
 */
import { readdirSync, readFileSync } from 'node:fs'
import http from 'node:http'
import type { Socket } from 'node:net'
import { enginesHere } from '../test/support/engines-here.ts'
import { Installation } from '../test/support/installation.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../test/support/story.ts'

const minutes = Number(process.argv[2] ?? 30)
const sampleMs = 5_000
const deployEveryMs = 30_000
const visitEveryMs = 15_000
const loops = 8
/** What may come on top over the measured time before it is called growth. */
const allowed = { mb: 8, descriptors: 8 }

interface Sample {
  atMs: number
  mb: number
  descriptors: number
}
const roles = ['serve', 'gateway', 'supervise'] as const
type Role = (typeof roles)[number]

/** The processes of the installation, by what they do. */
function processesOf(home: string): Map<Role, number> {
  const found = new Map<Role, number>()
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
      if (!args.includes(home) && !environment.includes(`LONGSHORE_HOME=${home}`)) continue
      const role = roles.find((name) => args.some((arg) => arg.endsWith(name)))
      if (role) found.set(role, Number(pid))
    } catch {
      // Ended meanwhile.
    }
  }
  return found
}

function look(pid: number, atMs: number): Sample | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const mb = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
    return { atMs, mb, descriptors: readdirSync(`/proc/${pid}/fd`).length }
  } catch {
    return null
  }
}

/** Change per hour by least squares. */
function slope(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const x = samples.map(({ atMs }) => atMs / 3_600_000)
  const y = samples.map(of)
  const [mx, my] = [mean(x), mean(y)]
  const above = x.reduce((sum, value, index) => sum + (value - mx) * (y[index]! - my), 0)
  return above / x.reduce((sum, value) => sum + (value - mx) ** 2, 0)
}

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

/** Prints one line a process; answers whether all are flat. */
function judge(samples: Map<Role, Sample[]>): boolean {
  let flat = true
  for (const role of roles) {
    const all = samples.get(role) ?? []
    const settled = all.slice(Math.floor(all.length / 3))
    if (settled.length < 3) throw new Error(`no samples of ${role}: is the run too short?`)
    const hours = (settled.at(-1)!.atMs - settled[0]!.atMs) / 3_600_000
    const mb = slope(settled, (sample) => sample.mb)
    const descriptors = slope(settled, (sample) => sample.descriptors)
    const good = mb * hours <= allowed.mb && descriptors * hours <= allowed.descriptors
    flat &&= good
    const last = settled.at(-1)!
    process.stdout.write(
      `${role.padEnd(10)} ${all[0]!.mb.toFixed(0)} to ${last.mb.toFixed(0)} MB, ${mb.toFixed(1)} MB/h; ` +
        `${last.descriptors} descriptors, ${descriptors.toFixed(1)}/h: ${good ? 'flat' : 'GROWS'}\n`,
    )
  }
  return flat
}

const base = (await enginesHere()).find(({ engine }) => engine === 'process')?.base
if (!base) throw new Error('the process engine is not here')
const installation = new Installation({ LONGSHORE_ENGINE: 'process', LONGSHORE_CLOCK_SCALE: '100' })
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
  const samples = new Map<Role, Sample[]>(roles.map((role) => [role, []]))
  let deployments = 0
  await Promise.all([
    ...Array.from({ length: loops }, () => traffic(port, busy.host, over)),
    every(visitEveryMs, over, async () => count(await ask(port, seldom.host, '/'))),
    every(deployEveryMs, over, async () => {
      await deploy(installation, busy.appEnvId, sampleSource(base))
      await untilDeployed(installation, busy.appEnvId)
      deployments++
    }),
    every(sampleMs, over, async () => {
      for (const [role, pid] of processesOf(installation.home)) {
        const sample = look(pid, performance.now() - startMs)
        if (sample) samples.get(role)!.push(sample)
      }
    }),
  ])
  const told = [...statuses].map(([status, times]) => `${times} x ${status || 'no answer'}`).join(', ')
  process.stdout.write(`${minutes} minutes, ${deployments} deployments; answers: ${told}\n`)
  for (const [why, times] of failures) process.stdout.write(`  no answer, ${times} x: ${why}\n`)
  if (!judge(samples)) process.exitCode = 1
} finally {
  agent.destroy()
  await installation.dispose()
}
