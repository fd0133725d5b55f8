/**
 * What the request log costs the gateway: gateways of one process each on the same upstream, half of them with the log,
 * measured in turn, so that what else the machine does slows both kinds. Several of each, because equal processes
 * differ by some percent. The control plane of each masks and stores what it is sent, in this process. Prints medians
 * of requests per second, CPU time for a request, and the cost. Needs wrk; nginx is the upstream if it is installed.
 *
 * Run: npm run bench -- request-log [--seconds 2] [--rounds 6] [--gateways 3] [--connections 50]
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
    rounds: { type: 'string', default: '6' },
    /** Of each kind. */
    gateways: { type: 'string', default: '3' },
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
  /** Of the gateway process. */
  pid: number
  rates: number[]
  /** CPU time of the gateway for a request, in microseconds: other load of the machine hardly changes it. */
  cpuMicros: number[]
  /** Requests that reached the control plane: shown ones and what they stand for. */
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
  const side: Side = { mode, port, pid: child.pid!, rates: [], cpuMicros: [], kept: 0, represented: 0 }
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

/** One round of load on a gateway. */
async function load(side: Side, seconds: string): Promise<void> {
  const cpuBefore = cpuTicks(side.pid)
  const args = ['-t2', `-c${values.connections}`, `-d${seconds}s`, '-H', 'Host: bench.app.localhost']
  const { stdout } = await run('wrk', [...args, `http://127.0.0.1:${side.port}/orders/1234?page=2`])
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`some requests failed:\n${stdout}`)
  side.rates.push(Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]))
  const requests = Number(/(\d+) requests in/.exec(stdout)?.[1])
  side.cpuMicros.push(((cpuTicks(side.pid) - cpuBefore) * 10_000) / requests)
}

/** User and system time of a process, in hundredths of a second. */
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return Number(fields[11]) + Number(fields[12])
}

const median = (numbers: number[]) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)]!

async function measure(): Promise<void> {
  if (!has('wrk')) throw new Error('wrk is not installed')
  const dir = await mkdtemp(path.join(tmpdir(), 'request-log-'))
  const stops: (() => unknown)[] = []
  try {
    const upstream = await startUpstream(dir, 'x'.repeat(1024))
    stops.push(upstream.stop)
    const sides: Side[] = []
    for (let count = 0; count < Number(values.gateways); count++)
      for (const mode of ['off', 'on'] as const) sides.push(await startSide(mode, dir, upstream.port, stops))
    for (const side of sides) {
      await load(side, '2')
      side.rates = []
      side.cpuMicros = []
    }
    for (let round = 0; round < Number(values.rounds); round++) {
      // Each goes first in turn.
      const order = round % 2 ? [...sides].reverse() : sides
      for (const side of order) await load(side, values.seconds)
    }
    report(sides)
  } finally {
    for (const stop of stops.reverse()) await stop()
    await rm(dir, { recursive: true, force: true })
  }
}

interface Totals {
  rate: number
  micros: number
  kept: number
  represented: number
}

function report(sides: readonly Side[]): void {
  const [off, on] = (['off', 'on'] as const).map((mode) => {
    const those = sides.filter((side) => side.mode === mode)
    const rate = median(those.flatMap(({ rates }) => rates))
    const micros = median(those.flatMap(({ cpuMicros }) => cpuMicros))
    const sum = (field: 'kept' | 'represented') => those.reduce((total, side) => total + side[field], 0)
    console.log(
      `request log ${mode.padEnd(4)} ${Math.round(rate)} req/s, ${micros.toFixed(1)} µs of CPU a request`,
    )
    return { rate, micros, kept: sum('kept'), represented: Math.round(sum('represented')) }
  }) as [Totals, Totals]
  const percent = (share: number) => `${(100 * share).toFixed(1)} %`
  console.log(`cost: ${percent(1 - on.rate / off.rate)} of throughput`)
  console.log(`cost: ${percent(on.micros / off.micros - 1)} of CPU time for a request`)
  console.log(`kept ${on.kept} of ${on.represented} requests (off: ${off.kept})`)
}

if (values.serve) await serve(values.serve, values.mode as RequestLogMode)
else await measure()
