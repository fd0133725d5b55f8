import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type net from 'node:net'
import { AppError } from '../../../errors.ts'
import type { Log } from '../../../log.ts'
import { spawnChild } from '../../../spawn-child.ts'
import type { EngineFiles } from '../engine-files.ts'
import { tail, tryConnect } from './socket.ts'

const startDeadlineMs = 10_000
const connectPeriodMs = 5
const firstLockPauseMs = 100
const longestLockPauseMs = 1_000

export interface SupervisorCommand {
  files: EngineFiles
  home: string
  /** Command line of the supervisor without `--home <home>`. */
  entry: readonly string[]
  log: Log
}

/** Starts a supervisor, or waits for one that holds the lock, and connects to it. */
export async function startAndConnect(command: SupervisorCommand): Promise<net.Socket> {
  const { files } = command
  let exitCode: number | null = null
  const start = () => {
    exitCode = null
    const child = spawnSupervisor(command)
    child.once('exit', (code) => {
      exitCode = code ?? 1
    })
    child.once('error', () => {
      exitCode = 127
    })
  }
  start()
  let lockPauseMs = firstLockPauseMs
  for (const endMs = performance.now() + startDeadlineMs; performance.now() < endMs; ) {
    const socket = await tryConnect(files.socket)
    if (socket) return socket
    if (exitCode !== null && exitCode !== 0) break
    await new Promise((resolve) => setTimeout(resolve, exitCode === 0 ? lockPauseMs : connectPeriodMs))
    // Code 0: another one holds the lock. It answers soon, or it was just dying and the lock is free now.
    if (exitCode === 0) {
      start()
      lockPauseMs = Math.min(lockPauseMs * 2, longestLockPauseMs)
    }
  }
  throw new AppError('unavailable', 'The process engine’s supervisor does not start', {
    details: `See ${files.supervisorLog}.`,
    cause: new Error(`exit code ${exitCode}: ${tail(files.supervisorLog)}`),
  })
}

/** A daemon: its own session, no terminal, only PATH from the platform's environment. */
function spawnSupervisor({ files, home, entry, log }: SupervisorCommand): ChildProcess {
  const logFd = openSync(files.supervisorLog, 'a', 0o600)
  try {
    const [program, ...rest] = entry
    const child = spawnChild(program!, [...rest, '--home', home], {
      detached: true,
      cwd: '/',
      // A small young generation: it reads /proc each second, and that garbage need not grow the heap.
      env: { PATH: process.env.PATH, NODE_OPTIONS: '--max-semi-space-size=1' },
      stdio: ['ignore', logFd, logFd],
    })
    child.unref()
    log.info({ supervisorPid: child.pid }, 'started the supervisor of the process engine')
    return child
  } finally {
    closeSync(logFd)
  }
}
