import { existsSync, rmSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { inspect } from 'node:util'
import { continueAfterBugs } from '../../../last-resort.ts'
import { runBuildStep } from '../build/step.ts'
import { assertFileName, type EngineFiles, engineFiles, makeEngineDirs } from '../engine-files.ts'
import { PortPicker } from '../free-port.ts'
import { removeTree } from '../remove-tree.ts'
import { SupervisedContainer } from './container.ts'
import { loadRecords } from './container-record.ts'
import { onJsonLine, sendJsonLine } from './json-lines.ts'
import { PrewarmedRoot } from './prewarmed-root.ts'
import {
  commandOf,
  type ProcessRow,
  processesWithHome,
  processIdentity,
  processIds,
  readProcess,
  readProcesses,
} from './proc-tree.ts'
import {
  type ContainerRecord,
  type Hello,
  protocolVersion,
  type Reply,
  type Request,
  type StartRequest,
} from './protocol.ts'

const policePeriodMs = 1_000
const homePeriodMs = 2_000
/** Without containers and connections it exits after this time; the engine starts another one when needed. */
const idleMs = 30_000
/** One reading of /proc serves every request within this time. */
const rowsLifeMs = 100
const firstPortLookMs = 400
const lastPortLookMs = 5_000

/**
 * The process that owns the containers of one installation, so that they survive the control plane: it starts, stops
 * and watches them, keeps their logs and exit states, and serves the engine over a Unix socket. Resolves with true
 * when it is ready, or with false if another one runs for this data directory or the directory is gone.
 */
export async function runSupervisor(options: { home: string }): Promise<boolean> {
  const files = engineFiles(options.home)
  // The engine creates the folder before it starts the supervisor; do not recreate one deleted since.
  if (!existsSync(files.dir)) return false
  makeEngineDirs(files)
  if (!(await holdLock(files.lock))) return false
  const supervisor = new Supervisor(files)
  supervisor.endOrphans()
  await supervisor.listen()
  // The containers would end with it.
  continueAfterBugs((error) => process.stderr.write(`bug: the supervisor continues: ${inspect(error)}\n`))
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void supervisor.shutDown())
  process.on('SIGHUP', () => {})
  return true
}

/** Whether its first process runs, and not a later one with the same number. */
function isAlive({ pid, pidIdentity }: ContainerRecord): boolean {
  return pid !== null && pidIdentity !== null && processIdentity(pid) === pidIdentity
}

/** The kernel releases the lock when this process ends, and an abstract socket leaves no file. */
function holdLock(name: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => socket.destroy())
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    )
    server.listen(name, () => resolve(true))
  })
}

class Supervisor {
  readonly #files: EngineFiles
  readonly #ports = new PortPicker()
  readonly #prewarmed: PrewarmedRoot
  readonly #containers = new Map<string, SupervisedContainer>()
  readonly #connections = new Set<net.Socket>()
  readonly #steps = new Set<() => void>()
  #server: net.Server | null = null
  #rows: { at: number; rows: ProcessRow[] } = { at: Number.NEGATIVE_INFINITY, rows: [] }
  #idleSince = performance.now()

  constructor(files: EngineFiles) {
    this.#files = files
    this.#prewarmed = new PrewarmedRoot(files.containers)
  }

  /** After a supervisor was killed, its containers cannot be adopted (their output is lost), so they are ended. */
  endOrphans(): void {
    const { records, broken } = loadRecords(this.#files.containers)
    // Check this before ending any: a container that had already ended has an unknown end time.
    const alive = new Set(records.filter((record) => isAlive(record) && !this.#belongsToOriginal(record)))
    for (const pid of processesWithHome(processIds(), (home) =>
      home.startsWith(this.#files.dir + path.sep),
    )) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // Already gone.
      }
    }
    for (const record of records) {
      const container = this.#add(record)
      if (record.state !== 'exited') container.endOrphan(alive.has(record))
    }
    for (const name of broken) {
      // Interrupted before its first state file: no process was spawned.
      rmSync(path.join(this.#files.containers, name), { recursive: true, force: true })
    }
  }

  /** This data directory is a copy and the container belongs to the original, whose supervisor is alive. */
  #belongsToOriginal({ pid }: ContainerRecord): boolean {
    const words = commandOf(readProcess(pid ?? 0)?.parent ?? 0)
    const home = words[words.indexOf('--home') + 1]
    return home !== undefined && existsSync(home) && engineFiles(home).dir !== this.#files.dir
  }

  async listen(): Promise<void> {
    setInterval(() => this.#police(), policePeriodMs).unref()
    setInterval(() => this.#checkHome(), homePeriodMs).unref()
    await this.#openSocket()
  }

  #openSocket(): Promise<void> {
    // Close first: closing removes the socket file, which must not be the new one.
    this.#server?.close()
    rmSync(this.#files.socket, { force: true })
    const server = net.createServer((socket) => this.#accept(socket))
    this.#server = server
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#files.socket, resolve)
    })
  }

  async shutDown(): Promise<void> {
    await Promise.all([...this.#containers.values()].map((container) => container.stop(5)))
    this.#leave()
  }

  #accept(socket: net.Socket): void {
    const steps = new Map<number, () => void>()
    this.#connections.add(socket)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      this.#connections.delete(socket)
      // A build step ends with the connection of the control plane that started it.
      for (const cancel of steps.values()) cancel()
    })
    onJsonLine(socket, async (message) => {
      const request = message as Request
      const reply = (answer: Reply) => sendJsonLine(socket, answer)
      try {
        reply({ id: request.id, ok: true, value: (await this.#answer(request, steps, reply)) ?? null })
      } catch (error) {
        reply({ id: request.id, ok: false, error: (error as Error).message })
      }
    })
  }

  async #answer(
    request: Request,
    steps: Map<number, () => void>,
    reply: (answer: Reply) => void,
  ): Promise<unknown> {
    switch (request.verb) {
      case 'hello':
        return { protocol: protocolVersion, pid: process.pid } satisfies Hello
      case 'start':
        return await this.#start(request.start)
      case 'stop':
        return await this.#containers.get(request.name)?.stop(request.graceSeconds)
      case 'remove':
        return await this.#remove(request.name)
      case 'find':
        return this.#containers.get(request.name)?.record
      case 'list':
        return [...this.#containers.values()].map((container) => container.record)
      case 'usage':
        return this.#containers.get(request.name)?.usage(this.#readProcesses())
      case 'listeners':
        return this.#containers.get(request.name)?.listeners(this.#readProcesses())
      case 'cancel-step':
        return steps.get(request.step)?.()
      case 'step': {
        const { id } = request
        const step = runBuildStep(request.step, (stream, text) =>
          reply({ id, output: { stream, message: text } }),
        )
        steps.set(id, step.cancel)
        this.#steps.add(step.cancel)
        return await step.result.finally(() => {
          steps.delete(id)
          this.#steps.delete(step.cancel)
        })
      }
    }
  }

  async #start(request: StartRequest): Promise<ContainerRecord> {
    const known = this.#containers.get(request.name)
    const container = known ?? this.#add(request)
    if (known?.record.state !== 'exited') {
      await container.start().catch((error) => {
        this.#containers.delete(request.name)
        throw error
      })
      if (!known) this.#lookForPort(container, firstPortLookMs)
    }
    return container.record
  }

  async #remove(name: string): Promise<void> {
    const container = this.#containers.get(name)
    if (!container) return
    await container.settled()
    container.kill()
    await container.ended
    await removeTree(path.join(this.#files.containers, assertFileName(name)))
    this.#containers.delete(name)
    this.#changed(name)
  }

  #add(from: StartRequest | ContainerRecord): SupervisedContainer {
    assertFileName(from.name)
    const container = new SupervisedContainer(
      this.#files.containers,
      from,
      this.#ports,
      this.#prewarmed,
      (name) => this.#changed(name),
    )
    this.#containers.set(from.name, container)
    return container
  }

  /** Checks soon after the start, then less and less often, until the port is found. */
  #lookForPort(container: SupervisedContainer, delayMs: number): void {
    setTimeout(() => {
      if (container.findPort(this.#readProcesses())) return
      this.#lookForPort(container, Math.min(delayMs * 1.5, lastPortLookMs))
    }, delayMs).unref()
  }

  #police(): void {
    const running = [...this.#containers.values()].filter((container) => container.isRunning)
    if (running.length > 0) {
      const rows = this.#readProcesses()
      for (const container of running) container.policeMemory(rows)
    }
    if (running.length > 0 || this.#connections.size > 0) this.#idleSince = performance.now()
    else if (performance.now() - this.#idleSince > idleMs) this.#leave()
  }

  #checkHome(): void {
    if (!existsSync(this.#files.containers)) {
      // The installation was deleted, so these containers would otherwise never stop.
      for (const container of this.#containers.values()) container.kill()
      this.#leave()
    }
    // A cleaner of the temporary folder removed the socket: without it the engine cannot connect to the holder of the
    // lock.
    if (!existsSync(this.#files.socket)) void this.#listenAgain()
  }

  async #listenAgain(): Promise<void> {
    try {
      makeEngineDirs(this.#files)
      await this.#openSocket()
    } catch {
      // The next check retries.
    }
  }

  #leave(): never {
    for (const cancel of this.#steps) cancel()
    rmSync(this.#files.socket, { force: true })
    const socketDir = path.dirname(this.#files.socket)
    if (socketDir !== this.#files.dir) rmSync(socketDir, { recursive: true, force: true })
    process.exit(0)
  }

  #changed(name: string): void {
    for (const socket of this.#connections) sendJsonLine(socket, { changed: name } satisfies Reply)
  }

  #readProcesses(): ProcessRow[] {
    const now = performance.now()
    if (now - this.#rows.at > rowsLifeMs) this.#rows = { at: now, rows: readProcesses() }
    return this.#rows.rows
  }
}
