import type { ChildProcess, StdioOptions } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { stat, truncate } from 'node:fs/promises'
import { connect } from 'node:net'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { type Clock, sleep, systemClock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { JsonLines, jsonLine } from '../../json-lines.ts'
import type { Log } from '../../log.ts'
import { spawnChild } from '../../spawn-child.ts'
import type { GatewayHello } from './client.ts'
import { type GatewayStart, gatewayArguments } from './command.ts'
import type { FromGateway, ToGateway } from './protocol.ts'
import type { RequestLogMode } from './request-record.ts'

export interface EnsureGatewayOptions {
  /**
   * Command and first arguments that run `gatewayCommand`, such as `[process.execPath, 'dist/longshore.js',
   * 'gateway']`.
   */
  entry: readonly string[]
  home: string
  socketPath: string
  host: string
  /** 0: any free port; a running gateway of the same host then matches with any port. */
  port: number
  clockScale: number
  /** Number of processes; default 1. */
  processes?: number
  /** Default `off`. */
  requestLog?: RequestLogMode
  /** Default: none. */
  trustedProxies?: readonly string[]
  proxyProtocol?: boolean
  /** Port for TLS; default: none. */
  tlsPort?: number | null
  build: string
  log: Log
  clock?: Clock
}

interface RunningGatewayProcess {
  pid: number
  host: string
  port: number
  /** Whether it was running already. */
  adopted: boolean
}

const helloMs = 2_000
const startMs = 15_000
/** An exiting predecessor releases its port immediately, so a longer wait means an error. */
const takeOverMs = 10_000
const maxLogBytes = 8 * 1024 * 1024

/**
 * Ensures that a gateway with this build and these settings runs: adopts the running one, or starts one as a separate
 * process that survives this one. A gateway that does not match is shut down; its successor is already booted and
 * takes over the port immediately. Throws `AppError` (`unavailable`) with the remedy.
 */
export async function ensureGateway(options: EnsureGatewayOptions): Promise<RunningGatewayProcess> {
  const running = await greet(options.socketPath, options.build)
  if (!running) return start(options, 0, () => {})
  if (fits(running.hello, options)) {
    running.leave()
    const { pid, host, port } = running.hello
    return { pid, host, port, adopted: true }
  }
  const { build, port } = running.hello
  options.log.info({ pid: running.hello.pid, build, port }, 'replacing a gateway with other settings')
  return start(options, takeOverMs, running.shutdown)
}

function fits(hello: GatewayHello, options: EnsureGatewayOptions): boolean {
  return (
    hello.build === options.build &&
    hello.host === options.host &&
    (options.port === 0 || hello.port === options.port) &&
    hello.clockScale === options.clockScale &&
    hello.processes === (options.processes ?? 1) &&
    hello.requestLog === (options.requestLog ?? 'off') &&
    (hello.tlsPort ?? null) === (options.tlsPort ?? null) &&
    (hello.proxyProtocol ?? false) === (options.proxyProtocol ?? false) &&
    (hello.trustedProxies ?? []).join() === (options.trustedProxies ?? []).join()
  )
}

interface Greeted {
  hello: GatewayHello
  shutdown(): void
  leave(): void
}

/** Gets the identification of the gateway on the socket; null if there is none. */
function greet(socketPath: string, build: string): Promise<Greeted | null> {
  return new Promise((resolve) => {
    const socket = connect(socketPath)
    const lines = new JsonLines<FromGateway>()
    const timer = setTimeout(() => socket.destroy(), helloMs)
    const say = (message: ToGateway) => socket.write(jsonLine(message))
    socket.on('connect', () => say({ type: 'hello', build, probe: true }))
    socket.on('error', () => {})
    socket.on('close', () => {
      clearTimeout(timer)
      resolve(null)
    })
    socket.on('data', (piece) => {
      const hello = lines.read(piece).find((message) => message.type === 'hello')
      if (!hello) return
      clearTimeout(timer)
      resolve({
        hello,
        shutdown: () => {
          say({ type: 'shutdown' })
          socket.end()
        },
        leave: () => socket.end(),
      })
    })
  })
}

async function start(
  options: EnsureGatewayOptions,
  portPatienceMs: number,
  onWaiting: () => void,
): Promise<RunningGatewayProcess> {
  const [command, ...first] = options.entry
  const logPath = path.join(options.home, 'gateway.log')
  await boundLog(logPath)
  const logFile = openSync(logPath, 'a', 0o600)
  const args = gatewayArguments({
    processes: 1,
    requestLog: 'off',
    trustedProxies: [],
    proxyProtocol: false,
    tlsPort: null,
    ...options,
    portPatienceMs,
  })
  // A separate error file: a pipe to this process would break when this process ends.
  const stdio: StdioOptions = ['ignore', 'ignore', logFile, 'pipe']
  let child: ChildProcess
  try {
    child = spawnChild(command!, [...first, ...args], { detached: true, stdio, cwd: options.home })
  } finally {
    closeSync(logFile)
  }
  const line = child.stdio[3] as Readable
  const outcome = await Promise.race([
    readStart(line, onWaiting),
    new Promise<GatewayStart>((resolve) => {
      child.once('error', (error) => resolve({ error: `cannot start the gateway: ${error.message}` }))
    }),
    sleep(options.clock ?? systemClock, startMs).then(() => ({ error: 'the gateway did not start in time' })),
  ])
  line.destroy()
  child.unref()
  if ('ready' in outcome) return { ...outcome.ready, adopted: false }
  if (child.exitCode === null) child.kill('SIGKILL')
  const details = 'error' in outcome ? outcome.error : undefined
  throw new AppError('unavailable', 'The gateway cannot start', { details })
}

async function readStart(line: Readable, onWaiting: () => void): Promise<GatewayStart> {
  const lines = new JsonLines<GatewayStart>()
  try {
    for await (const piece of line) {
      for (const start of lines.read(piece as Buffer)) {
        if (!('waiting' in start)) return start
        onWaiting()
      }
    }
  } catch {
    // Reported below, like an exit without output.
  }
  return { error: 'the gateway ended before it was ready; see gateway.log in the data directory' }
}

/** Keeps the log of past gateways from growing forever. */
async function boundLog(logPath: string): Promise<void> {
  try {
    const { size } = await stat(logPath)
    if (size > maxLogBytes) await truncate(logPath, 0)
  } catch {
    // Does not exist yet.
  }
}
