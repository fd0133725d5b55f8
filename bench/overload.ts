/**
 * A function under ten times the load it can carry, in one burst and then for some seconds: the most requests
 * at once in a container (counted there), and how soon the refusals come (goal: 50 ms p99).
 *
 * - Gateway, containers and load are processes of their own.
 * - A request counts from when it was due; how late the load itself was is printed beside it.
 *
 *   npm run bench -- overload [--seconds 5] [--rounds 3]
 */
import { type ChildProcess, fork } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { systemClock } from '../src/clock.ts'
import { connectGateway } from '../src/gateway/control/client.ts'
import { runGateway } from '../src/gateway/gateway.ts'
import { warmUp } from '../src/gateway/workers/warm-up.ts'
import { createLog } from '../src/log.ts'

const concurrency = 10
const containers = 3
const serviceMs = 100
/** Ten times the capacity of the slots: each handles `1000 / serviceMs` requests a second. */
const ratePerSecond = 10 * containers * concurrency * (1000 / serviceMs)
const host = 'bench.fn.localhost'
const gatewayPort = 19_312
/** Refusals, p99. */
const goalMs = 50

/** The containers: each answers after `serviceMs` and counts how many requests it holds at once. */
async function serveContainers(): Promise<void> {
  const peaks: number[] = []
  const ports: number[] = []
  for (let index = 0; index < containers; index++) {
    let held = 0
    peaks[index] = 0
    const server = createServer((_request, response) => {
      held++
      peaks[index] = Math.max(peaks[index]!, held)
      setTimeout(() => {
        held--
        response.end('done')
      }, serviceMs)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    ports.push((server.address() as net.AddressInfo).port)
  }
  process.on('message', (message) => {
    process.send?.({ peaks: [...peaks] })
    if (message === 'forget') peaks.fill(0)
  })
  process.on('disconnect', () => process.exit(0))
  process.send?.({ ports })
}

async function serveGateway(dir: string): Promise<void> {
  const gateway = await runGateway({
    socketPath: path.join(dir, 'gw.sock'),
    host: '127.0.0.1',
    port: gatewayPort,
    clockScale: 1,
    build: 'bench',
    log: createLog('bench', 'error'),
    clock: systemClock,
  })
  process.on('disconnect', () => gateway.shutdown('bench over'))
  // As the gateway's own process does.
  await warmUp(systemClock)
  process.send?.('ready')
  await gateway.closed
  process.exit(0)
}

interface Answer {
  status: number
  ms: number
  lateMs: number
}

/** Kept connections, each with one request at a time. */
class Load {
  readonly #idle: net.Socket[] = []
  readonly #all: net.Socket[] = []
  readonly #busy = new Map<net.Socket, (status: number) => void>()
  readonly answers: Answer[] = []

  constructor(readonly port: number) {}

  async open(count: number): Promise<void> {
    for (let index = 0; index < count; index++) {
      const socket = net.connect({ port: this.port, host: '127.0.0.1', noDelay: true })
      socket.on('data', (piece) => {
        const done = this.#busy.get(socket)
        this.#busy.delete(socket)
        done?.(Number(piece.toString('latin1', 9, 12)))
        this.#idle.push(socket)
      })
      socket.on('error', () => {})
      socket.on('close', () => this.#busy.get(socket)?.(0))
      this.#all.push(socket)
      await new Promise((resolve) => socket.once('connect', resolve))
      this.#idle.push(socket)
    }
  }

  /** One request that was due at `dueMs`. */
  send(dueMs: number): void {
    const socket = this.#idle.pop()
    if (!socket) throw new Error('not enough connections for this load')
    const lateMs = performance.now() - dueMs
    this.#busy.set(socket, (status) => this.answers.push({ status, ms: performance.now() - dueMs, lateMs }))
    socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  }

  async settled(): Promise<Answer[]> {
    while (this.#busy.size > 0) await new Promise((resolve) => setTimeout(resolve, 10))
    return this.answers.splice(0)
  }

  close(): void {
    for (const socket of this.#all) socket.destroy()
  }
}

async function steadily(load: Load, seconds: number): Promise<Answer[]> {
  const startMs = performance.now()
  const total = ratePerSecond * seconds
  for (let sent = 0; sent < total; ) {
    const due = Math.min(total, ((performance.now() - startMs) / 1000) * ratePerSecond)
    for (; sent < due; sent++) load.send(startMs + (sent / ratePerSecond) * 1000)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return load.settled()
}

async function atOnce(load: Load, count: number): Promise<Answer[]> {
  const dueMs = performance.now()
  for (let index = 0; index < count; index++) load.send(dueMs)
  return load.settled()
}

function p99(values: number[]): number {
  const sorted = values.sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
}

/** Answers the p99 of the refusals, from the moment each request was due. */
function tell(what: string, answers: Answer[]): number {
  const refused = answers.filter(({ status }) => status === 503)
  const served = answers.filter(({ status }) => status === 200).length
  const other = answers.length - served - refused.length
  const text = `${what}: ${served} served, ${refused.length} refused, ${other} other; refusal p99 `
  const late = p99(answers.map(({ lateMs }) => lateMs)).toFixed(1)
  const fromDueMs = p99(refused.map(({ ms }) => ms))
  const fromSent = p99(refused.map(({ ms, lateMs }) => ms - lateMs)).toFixed(1)
  process.stdout.write(
    `${text}${fromDueMs.toFixed(1)} ms, ${fromSent} once sent (load late by ${late} p99)\n`,
  )
  return fromDueMs
}

/** Warms up the load generator, so that only the gateway is cold. */
async function warmUpLoad(port: number): Promise<void> {
  const load = new Load(port)
  await load.open(660)
  for (let round = 0; round < 4; round++) await atOnce(load, 660)
  load.close()
}

function route(ports: number[]) {
  return {
    appEnvId: 'env_bench',
    envName: 'bench',
    kind: 'function' as const,
    state: 'serving' as const,
    containers: ports.map((port) => ({ name: `c${port}`, host: '127.0.0.1', port, draining: false })),
    scaling: {
      containerConcurrency: concurrency,
      timeoutSeconds: 60,
      responseStartTimeoutSeconds: 60,
      idleTimeoutSeconds: 900,
      minScale: containers,
      maxScale: containers,
    },
  }
}

function nextMessage<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve) => child.once('message', (message) => resolve(message as T)))
}

async function measure(seconds: number, rounds: number): Promise<void> {
  const dir = await mkdtemp(path.join(tmpdir(), 'gw-over-'))
  const self = fileURLToPath(import.meta.url)
  const upstream = fork(self, ['--role', 'containers'])
  const { ports } = await nextMessage<{ ports: number[] }>(upstream)
  const gateway = fork(self, ['--role', 'gateway', '--dir', dir])
  await nextMessage(gateway)
  const log = createLog('bench', 'error')
  const socketPath = path.join(dir, 'gw.sock')
  const link = connectGateway({ socketPath, build: 'bench', clock: systemClock, log, on: {} })
  link.setRoutes([route(ports)])
  const load = new Load(gatewayPort)
  try {
    await warmUpLoad(ports[0]!)
    upstream.send('forget')
    await nextMessage(upstream)
    await load.open(1500)
    await new Promise((resolve) => setTimeout(resolve, 500))
    const refusedMs: number[] = []
    for (let round = 0; round < rounds; round++) {
      // The first burst meets a gateway that has served nothing yet.
      refusedMs.push(tell('660 at once on 30 slots', await atOnce(load, 660)))
      refusedMs.push(tell(`${ratePerSecond} requests/s on 300/s`, await steadily(load, seconds)))
    }
    const reply = nextMessage<{ peaks: number[] }>(upstream)
    upstream.send('peaks')
    const most = Math.max(...(await reply).peaks)
    const worst = Math.max(...refusedMs)
    process.stdout.write(`most at once in a container: ${most} (limit ${concurrency})\n`)
    process.stdout.write(`worst refusal p99: ${worst.toFixed(1)} ms (goal: at most ${goalMs} ms)\n`)
    if (most > concurrency || worst > goalMs) process.exitCode = 1
  } finally {
    load.close()
    link.close()
    gateway.disconnect()
    upstream.disconnect()
    await new Promise((resolve) => setTimeout(resolve, 300))
    await rm(dir, { recursive: true, force: true })
  }
}

const { values } = parseArgs({
  options: {
    role: { type: 'string' },
    dir: { type: 'string', default: '' },
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
  },
})
if (values.role === 'containers') await serveContainers()
else if (values.role === 'gateway') await serveGateway(values.dir)
else await measure(Number(values.seconds), Number(values.rounds))
