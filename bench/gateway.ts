/**
 * Gateway against nginx, HAProxy, Caddy (one core each) and direct on the same upstream: requests per second
 * at 50 kept connections and p50 on one, medians of rounds taken in turn. Says which program is absent:
 *
 * - wrk for throughput; HAProxy and Caddy for the comparison
 * - nginx, also as the upstream, so that the upstream is never the bottleneck
 *
 *   npm run bench -- gateway [--seconds 4] [--rounds 3] [--connections 50] [--processes 2]
 *       --processes also measures a gateway of so many processes, with as many functions, each served by
 *       another process
 */

import { execFile, fork } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { systemClock } from '../src/clock.ts'
import { connectGateway } from '../src/gateway/control/client.ts'
import type { Route } from '../src/gateway/control/protocol.ts'
import { runGateway } from '../src/gateway/gateway.ts'
import { ownerOf } from '../src/gateway/workers/messages.ts'
import { worker } from '../src/gateway/workers/worker.ts'
import { createLog } from '../src/log.ts'
import { median } from '../testkit/figures.ts'
import { benchHost, has, startOthers, startUpstream, type Target } from './gateway/other-proxies.ts'

const run = promisify(execFile)
const self = fileURLToPath(import.meta.url)

const gatewayPort = 19_302
const manyPort = 19_305

/** Each thread asks for a host of its own. */
const hostScript = `local threads = 0
function setup(thread) threads = threads + 1; thread:set("number", threads) end
function init(args) wrk.headers["Host"] = args[(number - 1) % #args + 1] end
`

async function wrk(target: Target, connections: number, seconds: number, script: string) {
  const threads = Math.min(Math.max(2, target.hosts.length), connections)
  const load = [`-t${threads}`, `-c${connections}`, `-d${seconds}s`, '--latency', '-s', script]
  const { stdout } = await run('wrk', [...load, `http://127.0.0.1:${target.port}/`, '--', ...target.hosts])
  const rate = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
  const failed = /Non-2xx|Socket errors/.test(stdout)
  return { rate, failed }
}

/** p50 in milliseconds of requests one after the other on one kept connection. */
async function latency(target: Target, count: number): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const times: number[] = []
  for (let index = 0; index < count; index++) {
    const startedMs = performance.now()
    await new Promise<void>((resolve, reject) => {
      request(
        { port: target.port, host: '127.0.0.1', agent, headers: { host: target.hosts[0] } },
        (response) => {
          response.resume()
          response.on('end', () => resolve())
        },
      )
        .on('error', reject)
        .end()
    })
    if (index > count / 10) times.push(performance.now() - startedMs)
  }
  agent.destroy()
  return median(times)
}

/** The gateway in a process of its own, as on the platform. */
async function serveGateway(socketPath: string, port: number, processes: number): Promise<never> {
  const log = createLog('bench', 'error')
  const gateway = await runGateway({
    socketPath,
    host: '127.0.0.1',
    port,
    clockScale: 1,
    build: 'bench',
    log,
    clock: systemClock,
    processes,
    memberCommand: [self, '--member'],
  })
  process.on('SIGTERM', () => gateway.shutdown('bench over'))
  process.send?.('ready')
  await gateway.closed
  process.exit(0)
}

/** Starts a gateway of so many processes that serves `envNames` from the upstream. */
async function startGateway(
  dir: string,
  port: number,
  processes: number,
  envNames: string[],
  upstreamPort: number,
  stops: (() => void)[],
): Promise<void> {
  const socketPath = path.join(dir, `gw${port}.sock`)
  const child = fork(self, ['--serve', socketPath, '--port', String(port), '--processes', String(processes)])
  stops.push(() => child.kill('SIGTERM'))
  await new Promise((resolve) => child.once('message', resolve))
  const log = createLog('bench', 'error')
  const link = connectGateway({ socketPath, build: 'bench', clock: systemClock, log, on: {} })
  link.setRoutes(envNames.map((envName) => route(envName, upstreamPort)))
  stops.push(() => link.close())
}

function route(envName: string, port: number): Route {
  return {
    appEnvId: envName,
    envName,
    kind: 'function',
    state: 'serving',
    containers: [{ name: 'one', host: '127.0.0.1', port, draining: false }],
    scaling: {
      containerConcurrency: 100,
      timeoutSeconds: 60,
      responseStartTimeoutSeconds: 60,
      idleTimeoutSeconds: 900,
      minScale: 1,
      maxScale: 1,
    },
  }
}

/** One function for each process. */
function namesFor(processes: number): string[] {
  const names = Array.from({ length: 1000 }, (_, index) => `bench${index}`)
  return Array.from(
    { length: processes },
    (_, owner) => names.find((name) => ownerOf(name, processes) === owner)!,
  )
}

async function measure(
  seconds: number,
  rounds: number,
  connections: number,
  processes: number,
): Promise<void> {
  const dir = await mkdtemp(path.join(tmpdir(), 'gw-bench-'))
  const stops: (() => void)[] = []
  try {
    const upstream = await startUpstream(dir, 'x'.repeat(1024))
    stops.push(upstream.stop)
    const targets: Target[] = [{ name: 'direct', port: upstream.port, hosts: [benchHost] }]
    targets.push(...(await startOthers(dir, upstream.port, stops)))
    await startGateway(dir, gatewayPort, 1, ['bench'], upstream.port, stops)
    targets.push({ name: 'gateway', port: gatewayPort, hosts: [benchHost] })
    if (processes > 1) {
      const names = namesFor(processes)
      await startGateway(dir, manyPort, processes, names, upstream.port, stops)
      const hosts = names.map((name) => `${name}.fn.localhost`)
      targets.push({ name: `gateway of ${processes}`, port: manyPort, hosts })
    }
    const script = path.join(dir, 'host.lua')
    await writeFile(script, hostScript)
    await new Promise((resolve) => setTimeout(resolve, 500))
    if (values.hold) await new Promise((resolve) => process.once('SIGTERM', resolve))
    else await report(targets, seconds, rounds, connections, script)
  } finally {
    for (const stop of stops.reverse()) stop()
    await new Promise((resolve) => setTimeout(resolve, 300))
    await rm(dir, { recursive: true, force: true })
  }
}

async function report(
  targets: Target[],
  seconds: number,
  rounds: number,
  connections: number,
  script: string,
): Promise<void> {
  const rates = new Map<string, number[]>(targets.map((target) => [target.name, []]))
  const p50s = new Map<string, number[]>(targets.map((target) => [target.name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const target of targets) {
      if (has('wrk')) {
        const { rate, failed } = await wrk(target, connections, seconds, script)
        rates.get(target.name)!.push(rate)
        if (failed) console.log(`${target.name}: some requests failed`)
      }
      p50s.get(target.name)!.push(await latency(target, 4000))
    }
  }
  if (!has('wrk')) console.log('wrk is not installed: no throughput figures')
  for (const target of targets) {
    const rate = has('wrk') ? `${Math.round(median(rates.get(target.name)!))} req/s` : ''
    console.log(
      `${target.name.padEnd(12)} ${rate.padStart(14)}   p50 ${median(p50s.get(target.name)!).toFixed(3)} ms`,
    )
  }
  const rateOf = (name: string) => median(rates.get(name) ?? [])
  for (const { name } of targets) {
    if (has('wrk') && !name.startsWith('gateway') && name !== 'direct')
      console.log(`gateway / ${name}: ${(rateOf('gateway') / rateOf(name)).toFixed(2)}`)
  }
  const many = targets.find(({ name }) => name.startsWith('gateway of'))
  if (many && has('wrk'))
    console.log(`${many.name} / gateway: ${(rateOf(many.name) / rateOf('gateway')).toFixed(2)}`)
  const added = median(p50s.get('gateway')!) - median(p50s.get('direct')!)
  console.log(`p50 added by the gateway, one connection: ${added.toFixed(3)} ms`)
}

const { values } = parseArgs({
  options: {
    serve: { type: 'string' },
    member: { type: 'boolean', default: false },
    port: { type: 'string', default: String(gatewayPort) },
    processes: { type: 'string', default: '1' },
    /** Start everything and wait, to measure by other means. */
    hold: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '50' },
  },
})
const count = { processes: Number(values.processes), connections: Number(values.connections) }
if (values.member) {
  await worker({ clockScale: 1, log: createLog('bench', 'error'), clock: systemClock })
  process.exit(0)
} else if (values.serve) await serveGateway(values.serve, Number(values.port), count.processes)
else await measure(Number(values.seconds), Number(values.rounds), count.connections, count.processes)
