import { closeSync, writeSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { type Clock, systemClock } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import { jsonLine } from '../../json-lines.ts'
import { continueAfterBugs } from '../../last-resort.ts'
import { createLog, type Log } from '../../log.ts'
import { type Gateway, runGateway } from '../gateway.ts'
import { warmUp } from '../workers/warm-up.ts'
import { worker } from '../workers/worker.ts'
import type { RequestLogMode } from './request-record.ts'

/** Settings of the gateway process, passed on its command line by `spawn.ts`. */
export interface GatewaySettings {
  socketPath: string
  home: string
  host: string
  port: number
  clockScale: number
  build: string
  portPatienceMs: number
  /** Number of processes, including the first one. */
  processes: number
  requestLog: RequestLogMode
  trustedProxies: readonly string[]
  proxyProtocol: boolean
  tlsPort: number | null
  /** A worker process, started by the first process. */
  member: boolean
}

/** The lines that the process writes to descriptor 3 for its parent; `waiting` first, if a predecessor is running. */
export type GatewayStart =
  | { waiting: true }
  | { ready: { pid: number; host: string; port: number } }
  | { error: string }

/** Exit code if the port or socket is unavailable. */
export const cannotListenExitCode = 3

export function gatewayArguments(settings: Omit<GatewaySettings, 'member'>): string[] {
  return [
    `--home=${settings.home}`,
    `--socket=${settings.socketPath}`,
    `--host=${settings.host}`,
    `--port=${settings.port}`,
    `--clock-scale=${settings.clockScale}`,
    `--build=${settings.build}`,
    `--port-patience-ms=${settings.portPatienceMs}`,
    `--processes=${settings.processes}`,
    `--request-log=${settings.requestLog}`,
    `--tls-port=${settings.tlsPort ?? ''}`,
    `--trusted-proxies=${settings.trustedProxies.join(',')}`,
    ...(settings.proxyProtocol ? ['--proxy-protocol'] : []),
  ]
}

export function parseGatewayArguments(args: readonly string[]): GatewaySettings {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      home: text,
      socket: text,
      host: text,
      port: text,
      'clock-scale': text,
      build: text,
      'port-patience-ms': text,
      processes: text,
      'request-log': text,
      'trusted-proxies': text,
      'proxy-protocol': { type: 'boolean' },
      'tls-port': text,
      member: { type: 'boolean' },
    },
  })
  const settings = {
    home: values.home ?? '',
    socketPath: values.socket ?? '',
    host: values.host ?? '127.0.0.1',
    port: Number(values.port ?? '4480'),
    clockScale: Number(values['clock-scale'] ?? '1'),
    build: values.build ?? '',
    portPatienceMs: Number(values['port-patience-ms'] ?? '0'),
    processes: Number(values.processes ?? '1'),
    requestLog: (values['request-log'] ?? 'off') as RequestLogMode,
    trustedProxies: (values['trusted-proxies'] ?? '').split(',').filter((one) => one !== ''),
    proxyProtocol: values['proxy-protocol'] ?? false,
    tlsPort: values['tls-port'] ? Number(values['tls-port']) : null,
    member: values.member ?? false,
  }
  if (!settings.home || !settings.socketPath || !settings.build) {
    throw new AppError('invalid', 'The gateway needs --home, --socket and --build', {
      details: 'longshore serve starts it; do not start it manually.',
    })
  }
  return settings
}

/**
 * The main function of the gateway process: runs until SIGTERM or SIGINT (drains, exit 0), until a control plane
 * shuts it down, or until its data directory is removed. Writes nothing to standard output. Reports the result of the
 * start on descriptor 3 as one line (`GatewayStart`) and, if it failed, on standard error.
 */
export async function gatewayCommand(
  args: readonly string[],
  options: { log?: Log; clock?: Clock } = {},
): Promise<never> {
  const log = options.log ?? createLog('gateway', 'warn')
  const clock = options.clock ?? systemClock
  continueAfterBugs((error) => log.fatal({ err: error }, 'bug: the gateway continues'))
  let gateway: Gateway
  try {
    const settings = parseGatewayArguments(args)
    if (settings.member) {
      await worker({ ...settings, log, clock })
      process.exit(0)
    }
    if (settings.portPatienceMs > 0) tellParent({ waiting: true })
    const memberCommand = [process.argv[1]!, ...process.argv.slice(2), '--member']
    gateway = await runGateway({ ...settings, memberCommand, log, clock })
  } catch (error) {
    if (!(error instanceof AppError)) log.error({ err: error }, 'the gateway cannot start')
    const message = error instanceof AppError ? error.message : 'the gateway cannot start'
    const details = error instanceof AppError && error.details ? `: ${error.details}` : ''
    const line = { error: `${message}${details}` }
    tellParent(line)
    process.stderr.write(jsonLine(line))
    process.exit(cannotListenExitCode)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => gateway.shutdown(signal))
  // Closing the terminal of `longshore serve` must not stop the gateway.
  process.on('SIGHUP', () => {})
  tellParent({ ready: { pid: process.pid, host: gateway.host, port: gateway.port } })
  await warmUp(clock)
  await gateway.closed
  process.exit(0)
}

function tellParent(line: GatewayStart): void {
  try {
    writeSync(3, jsonLine(line))
    if (!('waiting' in line)) closeSync(3)
  } catch {
    // Started manually: descriptor 3 is not open.
  }
}
