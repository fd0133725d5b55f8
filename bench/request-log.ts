/**
 * The cost of the request log for the gateway (goal: at most 5 % of throughput): one gateway with the log and
 * one without on the same upstream. Prints the median and the quartiles of the ratios of requests per second
 * and of CPU time for a request. Needs wrk; nginx is the upstream if it is installed.
 *
 * - Short runs in turn, so that other work of the machine slows both; several pairs, because equal processes
 *   differ by some percent.
 * - The control plane of each gateway masks and stores the lines it is sent, in this process.
 *
 *   npm run bench -- request-log [--seconds 2] [--rounds 8] [--pairs 3] [--connections 50]
 */
import { execFile, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { systemClock } from '../src/clock.ts'
import { connectGateway } from '../src/gateway/control/client.ts'
import type { RequestLogMode } from '../src/gateway/control/request-record.ts'
import { runGateway } from '../src/gateway/gateway.ts'
import { createLog } from '../src/log.ts'
import { LogMasks } from '../src/regions/logs/masks.ts'
import { RequestRecorder } from '../src/regions/machine/request-recorder.ts'
import { TestPlatform } from '../testkit/platform/test-platform.ts'
import { has, startUpstream } from './gateway/other-proxies.ts'

const run = promisify(execFile)
const self = fileURLToPath(import.meta.url)
const log = createLog('bench', 'error')

const { values } = parseArgs({
  options: {
    serve: { type: 'string' },
    mode: { type: 'string', default: 'off' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '8' },
    pairs: { type: 'string', default: '3' },
    connections: { type: 'string', default: '50' },
  },
})

/** The gateway in a process of its own, as on the platform. */
async function serve(socketPath: string, requestLog: RequestLogMode): Promise<never> {
  const gateway = await runGateway({
    socketPath,
    host: '127.0.0.1',
    port: 0,
    clockScale: 1,
    requestLog,
    build: 'bench',
    log,
    clock: systemClock,
  })
  process.on('SIGTERM', () => gateway.shutdown('bench over'))
  process.send?.(gateway.port)
  await gateway.closed
  process.exit(0)
}

interface Side {
  mode: RequestLogMode
  port: number
  /** Process id of the gateway. */
  pid: number
  /** Requests that reached the control plane: shown ones and those that they stand for. */
  kept: number
  represented: number
}

async function startSide(mode: RequestLogMode, dir: string, upstreamPort: number, stops: (() => unknown)[]) {
  const socketPath = path.join(dir, `${stops.length}.sock`)
  const child = fork(self, ['--serve', socketPath, '--mode', mode])
  stops.push(() => child.kill('SIGTERM'))
  const port = await new Promise<number>((resolve) =>
    child.once('message', (sent) => resolve(sent as number)),
  )
  const platform = await TestPlatform.start({ reconciles: false })
  stops.push(() => platform.close())
  const { appEnvId } = await platform.makeEnvironment()
  const { db, logs, secrets } = platform
  const recorder = new RequestRecorder({ db, logs, log, masks: new LogMasks(db, secrets) })
  stops.push(() => recorder.settled())
  const side: Side = { mode, port, pid: child.pid!, kept: 0, represented: 0 }
  const link = connectGateway({
    socketPath,
    build: 'bench',
    clock: systemClock,
    log,
    on: {
      requests(batches) {
        for (const { records } of batches) {
          side.kept += records.length
          for (const { oneIn } of records) side.represented += oneIn
        }
        recorder.take(batches)
      },
    },
  })
  stops.push(() => link.close())
  const containers = [{ name: 'one', host: '127.0.0.1', port: upstreamPort, draining: false }]
  link.setRoutes([{ appEnvId, envName: 'bench', kind: 'app', state: 'serving', containers, scaling: null }])
  return side
}

interface Run {
  rate: number
  /** CPU time of the gateway for a request, in microseconds: other load of the machine hardly changes it. */
  micros: number
}

/** One short run of load on a gateway. */
async function load(side: Side, seconds: string): Promise<Run> {
  const cpuBefore = cpuTicks(side.pid)
  const args = ['-t2', `-c${values.connections}`, `-d${seconds}s`, '-H', 'Host: bench.app.localhost']
  const { stdout } = await run('wrk', [...args, `http://127.0.0.1:${side.port}/orders/1234?page=2`])
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`some requests failed:\n${stdout}`)
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1])
  const micros = ((cpuTicks(side.pid) - cpuBefore) * 10_000) / requests
  return { rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]), micros }
}

/** User and system time of a process, in hundredths of a second. */
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return Number(fields[11]) + Number(fields[12])
}

/** A value below which that share of the others are. */
const quantile = (numbers: readonly number[], share: number) =>
  [...numbers].sort((a, b) => a - b)[Math.floor((numbers.length - 1) * share)]!

interface Pair {
  off: Side
  on: Side
  runs: { off: Run; on: Run }[]
}

async function measure(): Promise<void> {
  if (!has('wrk')) throw new Error('wrk is not installed')
  const dir = await mkdtemp(path.join(tmpdir(), 'request-log-'))
  const stops: (() => unknown)[] = []
  try {
    const upstream = await startUpstream(dir, 'x'.repeat(1024))
    stops.push(upstream.stop)
    const pairs: Pair[] = []
    for (let count = 0; count < Number(values.pairs); count++) {
      const off = await startSide('off', dir, upstream.port, stops)
      const on = await startSide('on', dir, upstream.port, stops)
      pairs.push({ off, on, runs: [] })
    }
    // The first runs warm up.
    for (const { off, on } of pairs) for (const side of [off, on]) await load(side, '2')
    for (let round = 0; round < Number(values.rounds); round++)
      for (const pair of pairs) await runPair(pair, round % 2 === 0)
    report(pairs)
  } finally {
    for (const stop of stops.reverse()) await stop()
    await rm(dir, { recursive: true, force: true })
  }
}

/** Each side goes first in turn. */
async function runPair({ off, on, runs }: Pair, offFirst: boolean): Promise<void> {
  const { seconds } = values
  if (offFirst) {
    const before = await load(off, seconds)
    runs.push({ off: before, on: await load(on, seconds) })
    return
  }
  const before = await load(on, seconds)
  runs.push({ off: await load(off, seconds), on: before })
}

function report(pairs: readonly Pair[]): void {
  const runs = pairs.flatMap((pair) => pair.runs)
  for (const mode of ['off', 'on'] as const) {
    const rate = quantile(
      runs.map((pair) => pair[mode].rate),
      0.5,
    )
    const micros = quantile(
      runs.map((pair) => pair[mode].micros),
      0.5,
    )
    console.log(
      `request log ${mode.padEnd(4)} ${Math.round(rate)} req/s, ${micros.toFixed(1)} µs of CPU a request (medians)`,
    )
  }
  reportCost(
    'of throughput',
    runs.map(({ off, on }) => 1 - on.rate / off.rate),
  )
  reportCost(
    'of CPU time for a request',
    runs.map(({ off, on }) => on.micros / off.micros - 1),
  )
  const kept = pairs.reduce((sum, { on }) => sum + on.kept, 0)
  const represented = pairs.reduce((sum, { on }) => sum + on.represented, 0)
  console.log(`kept ${kept} of ${Math.round(represented)} requests`)
}

function reportCost(what: string, costs: readonly number[]): void {
  const percent = (share: number) => `${(100 * quantile(costs, share)).toFixed(1)} %`
  console.log(
    `cost: ${percent(0.5)} ${what} (quartiles ${percent(0.25)} to ${percent(0.75)}, ${costs.length} pairs of runs)`,
  )
}

if (values.serve) await serve(values.serve, values.mode as RequestLogMode)
else await measure()
