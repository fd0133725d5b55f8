import type { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { type Clock, sleep, systemClock } from '../../src/clock.ts'
import type { DatabasePresetName } from '../../src/contract/fields.ts'
import type { DatabaseAccess } from '../../src/domain/backups/backup.ts'
import type { DatabaseAvailability, DatabasePreset } from '../../src/domain/databases/presets.ts'
import {
  type BuildSpec,
  type BuiltImage,
  type ContainerSpec,
  type CopySource,
  type Engine,
  type EngineCapabilities,
  type EngineContainer,
  EngineFailure,
  type EngineLogLine,
  type ImageCommand,
  type Usage,
} from '../../src/engines/engine.ts'
import { AppError } from '../../src/errors.ts'
import { fakeBuild } from './build.ts'
import { FakeContainer, type FakeProgram, sampleProgram } from './container.ts'
import { noFaults } from './faults.ts'
import { FakeHost } from './host.ts'
import { FakeVolumes } from './volume-copies.ts'

interface FakeEngineOptions {
  host?: FakeHost
  clock?: Clock
  /** The program in the containers; by default one that behaves as `sampleServerJs` does. */
  program?: FakeProgram
  capabilities?: Partial<EngineCapabilities>
  /** It can create containers ahead (`Engine.prepare`). */
  prepares?: boolean
}

/** An engine in memory whose containers are small HTTP servers on loopback. It implements the whole port. */
export class FakeEngine implements Engine {
  readonly kind: Engine['kind'] = 'fake'
  readonly capabilities: EngineCapabilities
  readonly host: FakeHost
  readonly prepare?: (spec: ContainerSpec) => Promise<void>
  readonly faults = noFaults()
  readonly volumes: FakeVolumes
  /** Every call so far, such as `apply app-1`, to count starts. */
  readonly calls: string[] = []
  readonly #clock: Clock
  readonly #program: FakeProgram
  readonly #watchers = new Set<(name: string) => void>()
  readonly #starting = new Map<string, Promise<EngineContainer>>()

  constructor(options: FakeEngineOptions = {}) {
    this.host = options.host ?? new FakeHost()
    this.volumes = new FakeVolumes(this.host, this.faults)
    this.#clock = options.clock ?? systemClock
    this.#program = options.program ?? sampleProgram
    this.capabilities = {
      builds: true,
      isolates: false,
      scalesFunctions: true,
      ...options.capabilities,
    }
    if (options.prepares) {
      this.prepare = (spec) =>
        this.#call(`prepare ${spec.name}`, async () => {
          if (!this.host.containers.has(spec.name)) this.#create(spec)
        })
    }
  }

  /** Ends a container as if its code had crashed. */
  crash(name: string, exitCode = 1, outOfMemory = false): void {
    this.host.containers.get(name)?.end(exitCode, outOfMemory)
  }

  /** Containers that run now. */
  running(): FakeContainer[] {
    return [...this.host.containers.values()].filter(({ state }) => state === 'running')
  }

  async open(): Promise<void> {
    await this.#call('open', async () => {})
  }

  async close(): Promise<void> {
    this.#watchers.clear()
  }

  build(spec: BuildSpec, onLog: (line: EngineLogLine) => void, signal: AbortSignal): Promise<BuiltImage> {
    return this.#call(`build ${spec.contentId}`, async () => {
      const say = (message: string) => onLog({ timestamp: this.#now(), stream: 'stdout', message })
      const command = await fakeBuild(spec, this.#clock, say, signal)
      const image = `fake/${spec.appEnvId}:${spec.contentId}`
      this.host.images.set(image, command)
      return { image }
    })
  }

  pull(image: string, onLog: (line: EngineLogLine) => void): Promise<void> {
    return this.#call(`pull ${image}`, async () => {
      const why = this.faults.failPulls ?? (image.startsWith('127.0.0.1:1/') ? 'connection refused' : null)
      if (why !== null) throw new EngineFailure('image pull', `Cannot pull ${image}: ${why}`)
      onLog({ timestamp: this.#now(), stream: 'stdout', message: `pulled ${image}` })
      this.host.images.set(image, '["node", "server.js"]')
    })
  }

  /** Of images that were built: the words of CMD. */
  async imageCommand(image: string): Promise<ImageCommand | null> {
    const text = image.startsWith('fake/') ? this.host.images.get(image) : ''
    return text ? { entrypoint: [], cmd: JSON.parse(text) } : null
  }

  /** Every database is available, except those in the faults. */
  async databaseAvailabilityOf(preset: DatabasePreset): Promise<DatabaseAvailability> {
    if (!this.faults.missingDatabases.includes(preset.dockerPreset)) {
      const missing = (label: string) => this.faults.missingVersions.includes(label)
      const versions = preset.versions.map((version) => ({
        ...version,
        available: !missing(version.label),
        ...(missing(version.label) && { unavailableReason: `The fake engine has no ${version.label}.` }),
      }))
      return { available: true, versions }
    }
    return { available: false, unavailableReason: `The fake engine has no ${preset.name}.` }
  }

  prepareDatabase(
    database: { dockerPreset: DatabasePresetName; image: string },
    onLog: (line: EngineLogLine) => void,
  ): Promise<string> {
    return this.#call(`prepareDatabase ${database.image}`, async () => {
      if (this.faults.missingDatabases.includes(database.dockerPreset)) {
        throw new EngineFailure('not supported', `The fake engine has no ${database.dockerPreset}.`)
      }
      onLog({ timestamp: this.#now(), stream: 'stdout', message: `found ${database.image}` })
      this.host.images.set(database.image, 'node database')
      return database.image
    })
  }

  dumpDatabase(spec: ContainerSpec, sink: Writable): Promise<DatabaseAccess | null> {
    return this.#call(`dumpDatabase ${spec.name}`, async () => {
      const data = this.host.databases.get(spec.appEnvId) ?? ''
      sink.write(data.slice(0, data.length / 2))
      if (this.faults.failDumps !== null) throw new EngineFailure('database', this.faults.failDumps)
      sink.write(data.slice(data.length / 2))
      return this.host.access.get(spec.appEnvId) ?? null
    })
  }

  changeDatabasePassword({ name, appEnvId, database }: ContainerSpec, previous: string): Promise<void> {
    return this.#call(`changeDatabasePassword ${name}`, async () => {
      if (this.faults.failPasswords !== null) throw new EngineFailure('database', this.faults.failPasswords)
      this.host.passwords.set(appEnvId, { previous, now: database?.password ?? '' })
    })
  }

  loadDatabase(spec: ContainerSpec, source: CopySource): Promise<void> {
    return this.#call(`loadDatabase ${spec.name}`, async () => {
      this.host.databases.set(spec.appEnvId, await text(await source()))
    })
  }

  removeImage(image: string): Promise<void> {
    return this.#call(`removeImage ${image}`, async () => void this.host.images.delete(image))
  }

  apply(spec: ContainerSpec): Promise<EngineContainer> {
    return this.#call(`apply ${spec.name}`, async () => {
      const known = this.host.containers.get(spec.name)
      if (known && known.state !== 'created') return await (this.#starting.get(spec.name) ?? known.view())
      if (this.#starting.has(spec.name)) return await this.#starting.get(spec.name)!
      const starting = this.#start(spec)
      this.#starting.set(spec.name, starting)
      return await starting.finally(() => this.#starting.delete(spec.name))
    })
  }

  stop(name: string, graceSeconds: number): Promise<void> {
    return this.#call(`stop ${name}`, async () => await this.host.containers.get(name)?.stop(graceSeconds))
  }

  remove(name: string): Promise<void> {
    return this.#call(`remove ${name}`, async () => {
      const container = this.host.containers.get(name)
      this.host.containers.delete(name)
      if (container?.exited) this.#hint(name)
      else container?.end(137)
    })
  }

  list(): Promise<EngineContainer[]> {
    return this.#call('list', async () => [...this.host.containers.values()].map((one) => one.view()))
  }

  async *logs(
    name: string,
    options: { since: string | null; follow: boolean; signal: AbortSignal },
  ): AsyncGenerator<EngineLogLine> {
    const container = await this.#call(`logs ${name}`, async () => this.host.containers.get(name))
    for (let next = 0; container && !options.signal.aborted; ) {
      const isOver = !options.follow || container.exited
      for (; next < container.lines.length && !options.signal.aborted; next++) {
        const line = container.lines[next]!
        if (options.since === null || line.timestamp > options.since) yield line
      }
      if (isOver) return
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }

  usage(name: string): Promise<Usage | null> {
    return this.#call(`usage ${name}`, async () => this.host.containers.get(name)?.usage() ?? null)
  }

  purge(appEnvId: string): Promise<void> {
    return this.#call(`purge ${appEnvId}`, async () => {
      if (this.faults.failPurges > 0) {
        this.faults.failPurges -= 1
        throw new AppError('conflict', 'A volume is still used')
      }
      for (const reference of this.host.images.keys())
        if (reference.startsWith(`fake/${appEnvId}:`)) this.host.images.delete(reference)
      for (const name of this.host.volumes.keys())
        if (name.startsWith(`${appEnvId}/`)) this.host.volumes.delete(name)
    })
  }

  watch(onChange: (name: string) => void): () => void {
    const watcher = (name: string) => onChange(name)
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  #create(spec: ContainerSpec): FakeContainer {
    const container = new FakeContainer(spec, this.#program, this.#clock, (name) => this.#hint(name))
    container.mounted = this.host.mount(spec)
    this.host.containers.set(spec.name, container)
    return container
  }

  async #start(spec: ContainerSpec): Promise<EngineContainer> {
    const { failStarts, applyDelayMs, listenDelayMs } = this.faults
    const command = this.host.images.get(spec.image)
    if (command === undefined)
      throw new EngineFailure('interrupted', `There is no image ${spec.image} on this engine.`)
    if (!spec.command && !command.includes('node'))
      throw new EngineFailure('bad-command', `Cannot start ${command}: there is no such program.`)
    if (spec.workingDir?.endsWith('server.js'))
      throw new EngineFailure('bad-command', `The working directory ${spec.workingDir} is no folder.`)
    if (failStarts.times > 0) {
      failStarts.times--
      throw new EngineFailure(failStarts.reason, failStarts.message)
    }
    const container = this.host.containers.get(spec.name) ?? this.#create(spec)
    if (applyDelayMs > 0) await sleep(this.#clock, applyDelayMs)
    // Removed while it was being started.
    if (!container.exited) await container.start(listenDelayMs)
    return container.view()
  }

  async #call<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.calls.push(what)
    if (this.faults.away)
      throw new AppError('unavailable', 'The fake engine is away', { details: 'Set faults.away to false.' })
    const value = await work()
    if (this.faults.loseReplies > 0) {
      this.faults.loseReplies--
      throw new AppError('unavailable', 'The fake engine lost its answer')
    }
    return value
  }

  #hint(name: string): void {
    if (this.faults.muteHints) return
    for (const watcher of this.#watchers) watcher(name)
  }

  #now(): string {
    return new Date(this.#clock.wallMs()).toISOString()
  }
}
