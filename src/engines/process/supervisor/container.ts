import type { ChildProcess } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import type { ListenerReading, Usage } from '../../engine.ts'
import { LineSplitter } from '../../line-splitter.ts'
import { acceptingAddress, outsideHost, readListeners } from '../container-ports.ts'
import type { PortPicker } from '../free-port.ts'
import { usedBytes } from '../memory-use.ts'
import { signalGroup, signalProcess } from '../signals.ts'
import { ContainerLogWriter } from './container-log.ts'
import { newRecord, saveRecord } from './container-record.ts'
import type { PrewarmedRoot } from './prewarmed-root.ts'
import {
  isPortHeld,
  type ProcessRow,
  processesWithHome,
  processIdentity,
  programsOf,
  readProcesses,
  treeOf,
} from './proc-tree.ts'
import type { ContainerRecord, StartRequest } from './protocol.ts'

/** A child that fails this soon, on a port that another process now holds, lost a race for the port. */
const portRaceMs = 10_000
const portTries = 3
/** How long output may continue after the process ended. */
const drainMs = 500

/** One child process with its log, from start to end. */
export class SupervisedContainer {
  readonly record: ContainerRecord
  readonly #dir: string
  readonly #ports: PortPicker
  readonly #prewarmed: PrewarmedRoot
  readonly #onChange: (name: string) => void
  readonly #ended: Promise<void>
  #markEnded: () => void = () => {}
  #request: StartRequest | null = null
  #log: ContainerLogWriter | null = null
  #tries = 0
  #stopping = false
  #cpuMs = 0
  #starting: Promise<void> | null = null

  constructor(
    containersDir: string,
    from: StartRequest | ContainerRecord,
    ports: PortPicker,
    prewarmed: PrewarmedRoot,
    onChange: (name: string) => void,
  ) {
    this.#prewarmed = prewarmed
    this.#dir = path.join(containersDir, from.name)
    this.#ports = ports
    this.#onChange = onChange
    this.#ended = new Promise((resolve) => {
      this.#markEnded = resolve
    })
    if ('argv' in from) {
      this.#request = from
      this.record = newRecord(from)
    } else {
      this.record = from
      if (from.state === 'exited') this.#markEnded()
    }
  }

  /** Starts it once; concurrent callers wait for the same start. */
  start(): Promise<void> {
    this.#starting ??= this.#spawn()
    return this.#starting
  }

  /** Resolves when a start in progress has succeeded or failed. */
  async settled(): Promise<void> {
    await this.#starting?.catch(() => {})
  }

  get ended(): Promise<void> {
    return this.#ended
  }

  get isRunning(): boolean {
    return this.record.state === 'running'
  }

  /** SIGTERM to the group, SIGKILL to the whole tree after the grace period. Resolves when it has ended. */
  async stop(graceSeconds: number): Promise<void> {
    this.#stopping = true
    await this.settled()
    if (!this.isRunning) return
    const { stopSignal } = this.#request ?? {}
    if (stopSignal) signalProcess(this.record.pid!, stopSignal)
    else signalGroup(this.record.pid!, 'SIGTERM')
    const timer = setTimeout(() => this.kill(), Math.max(0, graceSeconds) * 1000)
    await this.#ended
    clearTimeout(timer)
  }

  kill(): void {
    this.#stopping = true
    if (this.isRunning) this.#killTree()
  }

  /** Null if it does not run. `rows` is one reading of /proc, shared by all containers. */
  usage(rows: readonly ProcessRow[]): Usage | null {
    if (!this.isRunning) return null
    let cpuMs = 0
    let rssBytes = 0
    for (const row of programsOf(this.record.pid!, rows, this.#request)) {
      cpuMs += row.cpuMs
      rssBytes += row.rssBytes
    }
    // Between fork and exec a process shares its parent's memory, so it is not measured yet.
    if (rssBytes === 0) return null
    // The CPU time of a child that is never waited for disappears with it; the total must not decrease.
    this.#cpuMs = Math.max(this.#cpuMs, cpuMs)
    return { cpuMs: this.#cpuMs, memoryMb: rssBytes / 1_048_576 }
  }

  /** Kills the tree if it exceeds its memory limit. */
  policeMemory(rows: readonly ProcessRow[]): void {
    const usage = this.usage(rows)
    // Resident sizes are cheap to read and count shared pages once per process, so they are never too low.
    if (!usage || usage.memoryMb <= this.record.memoryMb) return
    const usedMb = usedBytes(programsOf(this.record.pid!, rows, this.#request)) / 1_048_576
    if (usedMb <= this.record.memoryMb) return
    this.record.outOfMemory = true
    this.#log?.write('stderr', [
      `[killed: ${Math.ceil(usedMb)} MB of memory in use, ${this.record.memoryMb} MB allowed]`,
    ])
    this.kill()
  }

  /** Where its processes listen; null when it does not run. */
  listeners(rows: readonly ProcessRow[]): ListenerReading | null {
    return this.isRunning ? readListeners(this.record, rows) : null
  }

  /** Looks for the address where the tree accepts connections; true if it is known and no further look is needed. */
  findPort(rows: readonly ProcessRow[]): boolean {
    const { record } = this
    if (!this.isRunning || record.declaredPort === null) return true
    // The port of a database is configured; its other ports are irrelevant.
    if (this.#request?.fixedPort !== undefined) return true
    const found = acceptingAddress(record, rows)
    if (!found) return false
    if (found.port === record.port && found.host === record.host) return true
    record.seenAt = found
    this.#save()
    this.#onChange(record.name)
    return true
  }

  /**
   * Its supervisor is gone: kills the remaining processes and records the end. If it had already ended (`wasAlive`
   * false), by itself or with the machine, the time of the end is unknown and stays empty, because an invented time
   * would be billed.
   */
  endOrphan(wasAlive: boolean): void {
    const { record } = this
    if (wasAlive) this.#killTree()
    record.exitCode ??= 137
    record.signal ??= 'SIGKILL'
    this.#finish(wasAlive ? new Date().toISOString() : null)
  }

  async #spawn(): Promise<void> {
    const request = this.#request!
    const { record } = this
    const home = this.#home
    mkdirSync(home, { recursive: true, mode: 0o700 })
    if (request.argv[1] === '-lc') writeFileSync(path.join(home, '.profile'), loginProfile(request.env))
    this.#log ??= new ContainerLogWriter(this.#dir)
    this.#save()
    // A database listens on loopback only, as configured.
    record.host = request.fixedPort === undefined ? outsideHost : '127.0.0.1'
    if (request.fixedPort !== undefined) record.port = request.fixedPort
    else if (request.declaredPort !== null) record.port = await this.#ports.take()
    const env: Record<string, string> = { HOME: home, ...request.env }
    if (record.port !== null) env.PORT = String(record.port)
    const child = this.#prewarmed.spawn(request, env)
    record.startedAt = new Date().toISOString()
    this.#capture(child)
    if (child.pid === undefined) return await this.#cannotStart(child)
    record.pid = child.pid
    record.pidIdentity = processIdentity(child.pid)
    record.state = 'running'
    child.once('exit', (code, signal) => this.#onExit(child, code, signal))
    this.#save()
    this.#onChange(record.name)
  }

  async #cannotStart(child: ChildProcess): Promise<void> {
    const error = await new Promise<NodeJS.ErrnoException>((resolve) => child.once('error', resolve))
    const program = this.#request!.argv[0]
    const why =
      error.code === 'ENOENT' ? 'not found in PATH' : error.code === 'EACCES' ? 'not executable' : error.code
    this.#log?.write('stderr', [`[cannot start ${program}: ${why}]`])
    this.record.exitCode = error.code === 'ENOENT' ? 127 : 126
    this.#finish()
  }

  #capture(child: ChildProcess): void {
    for (const stream of ['stdout', 'stderr'] as const) {
      const batch: string[] = []
      const splitter = new LineSplitter((line) => batch.push(line))
      const flush = () => this.#log?.write(stream, batch.splice(0))
      child[stream]?.on('data', (chunk: Buffer) => {
        splitter.push(chunk)
        flush()
      })
      child[stream]?.once('end', () => {
        splitter.end()
        flush()
      })
    }
  }

  async #onExit(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): Promise<void> {
    const { record } = this
    // As in a container, the end of the first process ends everything it started.
    this.#killTree()
    await outputDrained(child)
    if (this.#lostPortRace(code)) {
      this.#ports.release(record.port!)
      await this.#spawn().catch(() => this.#finish())
      return
    }
    record.exitCode = signal ? 128 + (constants.signals[signal] ?? 0) : code
    record.signal = signal
    this.#finish()
  }

  #lostPortRace(code: number | null): boolean {
    const { record } = this
    if (this.#request?.fixedPort !== undefined) return false
    if (this.#stopping || !code || record.port === null || record.seenAt || ++this.#tries > portTries)
      return false
    if (Date.now() - Date.parse(record.startedAt!) > portRaceMs) return false
    return isPortHeld(record.port)
  }

  #finish(finishedAt: string | null = new Date().toISOString()): void {
    const { record } = this
    record.state = 'exited'
    record.finishedAt = finishedAt
    if (record.port !== null) this.#ports.release(record.port)
    this.#request = null
    this.#log?.close()
    this.#log = null
    this.#save()
    this.#markEnded()
    this.#onChange(record.name)
  }

  #killTree(): void {
    const leader = this.record.pid!
    signalGroup(leader, 'SIGKILL')
    const rows = readProcesses()
    for (const row of treeOf(leader, rows)) signalProcess(row.pid)
    // A process that left group and session still has the private HOME, and started after the leader.
    const ownTicks = Number(this.record.pidIdentity?.split(':')[1] ?? 0)
    const later = rows.filter((row) => row.startTicks >= ownTicks).map((row) => row.pid)
    for (const pid of processesWithHome(later, (home) => home === this.#home)) signalProcess(pid)
  }

  #save(): void {
    try {
      saveRecord(this.#dir, this.record)
    } catch {
      // Disk full or folder gone: the state in memory stays authoritative while this process lives.
    }
  }

  get #home(): string {
    return path.join(this.#dir, 'home')
  }
}

/** A login shell reads the host's /etc/profile, which resets PATH; this restores the container's PATH. */
function loginProfile(env: Readonly<Record<string, string>>): string {
  return `PATH='${(env.PATH ?? '').replaceAll("'", "'\\''")}'\nexport PATH\n`
}

function outputDrained(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, drainMs)
    child.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
