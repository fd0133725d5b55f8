import path from 'node:path'
import type { Writable } from 'node:stream'
import { type Clock, sleep, timestamp } from '../../clock.ts'
import type { DatabasePresetName } from '../../contract/fields.ts'
import type { DatabaseAvailability, DatabasePreset } from '../../domain/databases/presets.ts'
import type { Log } from '../../log.ts'
import {
  type BuildSpec,
  type BuiltImage,
  type ContainerSpec,
  type CopySource,
  type DatabaseContainerSpec,
  type Engine,
  type EngineContainer,
  EngineFailure,
  type EngineLogLine,
  type Isolation,
  type ListenerReading,
  type RestoreSpec,
  type Usage,
} from '../engine.ts'
import { inputsOf } from './build/inputs.ts'
import { BuildLog } from './build/log.ts'
import { writeShims } from './build/run-shims.ts'
import { startRequest } from './container-spec.ts'
import { HostDatabases } from './databases/host-databases.ts'
import { assertFileName, type EngineFiles, engineFiles, makeEngineDirs } from './engine-files.ts'
import { ImageStore, type ProcessImage } from './image-store.ts'
import { ownedFolders } from './owned-folders.ts'
import { PrivateRoot } from './private-root/private-root.ts'
import { SupervisorClient } from './supervisor/client.ts'
import { ContainerLogReader } from './supervisor/container-log.ts'
import { toContainer } from './supervisor/container-record.ts'
import type { ContainerRecord } from './supervisor/protocol.ts'
import { folderCopies } from './volume-copies.ts'
import { removeVolumes } from './volumes.ts'

const followPeriodMs = 100

interface ProcessEngineOptions {
  /** All state is below `<home>/engine`; it identifies the installation. */
  home: string
  /** Unused: all engines have the same options. */
  installationId?: string
  clock: Clock
  log: Log
  /** Command line that runs `runSupervisor`; `--home <home>` is appended. */
  supervisorEntry: readonly string[]
  /** LONGSHORE_NODE_IMAGE: this machine's Node replaces it, whatever its name. */
  nodeImage?: string
  /** For tests: makes the private root, or says why there is none. */
  probe?: typeof PrivateRoot.probe
}

const sharedNetwork =
  'Each container has its own files and processes, but they share the network of this machine, as the docker engine’s do not.'
const noRoot = 'The process engine does NOT isolate, because this machine offers no private root'

/**
 * Runs source as child processes of a supervisor, each in a private root (docs/decisions/process-engine.md): the default
 * if no container engine is available. Without a private root, containers of one version share one file tree and
 * `ImagePaths` rewrites absolute paths. Needs Linux (/proc).
 */
export function createProcessEngine(options: ProcessEngineOptions): Engine {
  return new ProcessEngine(options)
}

class ProcessEngine implements Engine {
  readonly kind = 'process'
  readonly volumes
  readonly capabilities = { builds: true, isolates: false, scalesFunctions: true }
  readonly #files: EngineFiles
  readonly #images: ImageStore
  readonly #databases: HostDatabases
  readonly #supervisor: SupervisorClient
  readonly #clock: Clock
  readonly #nodeImage: string | null
  readonly #log: Log
  readonly #probe: typeof PrivateRoot.probe
  #privateRoot: PrivateRoot | null = null
  #noPrivateRoot: string | null = null
  readonly #watchers = new Set<(name: string) => void>()
  readonly owned = () => ownedFolders(this.#files, this.#images)
  readonly imageCommand = (image: string) => this.#images.commandOf(image)

  constructor({ home, clock, log, supervisorEntry, nodeImage, probe }: ProcessEngineOptions) {
    this.#log = log
    this.#probe = probe ?? ((dir) => PrivateRoot.probe(dir))
    this.#files = engineFiles(home)
    this.#images = new ImageStore(this.#files.images)
    this.#databases = new HostDatabases(this.#files)
    this.volumes = folderCopies(this.#files.volumes)
    this.#clock = clock
    this.#nodeImage = nodeImage ?? null
    this.#supervisor = new SupervisorClient({
      files: this.#files,
      home: path.resolve(home),
      entry: supervisorEntry,
      log,
      onChange: (name) => {
        for (const watcher of this.#watchers) watcher(name)
      },
    })
  }

  isolation(): Isolation {
    return {
      metadataBlocked: false,
      reason: this.#noPrivateRoot === null ? sharedNetwork : `${noRoot}: ${this.#noPrivateRoot}.`,
    }
  }

  async isolationProblem(): Promise<string | null> {
    await this.#findPrivateRoot()
    return this.#noPrivateRoot && `${noRoot}: ${this.#noPrivateRoot}.`
  }

  async #findPrivateRoot(): Promise<void> {
    const found = await this.#probe(this.#files.privateRoot)
    this.#privateRoot = typeof found === 'string' ? null : found
    this.#noPrivateRoot = typeof found === 'string' ? found : null
    this.#databases.privateRoot = this.#privateRoot
  }

  async open(): Promise<void> {
    makeEngineDirs(this.#files)
    await this.#findPrivateRoot()
    if (this.#noPrivateRoot !== null) this.#log.warn({ reason: this.#noPrivateRoot }, noRoot)
    writeShims(this.#files.shims)
    await this.#supervisor.open()
  }

  async close(): Promise<void> {
    await this.#supervisor.close()
  }

  async build(
    spec: BuildSpec,
    onLog: (line: EngineLogLine) => void,
    signal: AbortSignal,
  ): Promise<BuiltImage> {
    // Load the Dockerfile parser at the first build only.
    const { buildImage } = await import('./build/build.ts')
    const imageDir = await this.#images.begin(spec)
    const log = new BuildLog(onLog, spec.secretBuildArgs)
    try {
      const inputs = this.#privateRoot ? await inputsOf(spec, this.#nodeImage, signal) : undefined
      const earlier = inputs && (await this.#images.linkEarlier(spec, inputs))
      if (earlier) {
        log.say(`Nothing has changed since build ${earlier.contentId}, whose image is used again.`)
        return { image: await this.#images.save({ ...earlier, contentId: spec.contentId }) }
      }
      const image = await buildImage(spec, {
        log,
        imageDir,
        files: this.#files,
        privateRoot: this.#privateRoot,
        nodeImage: this.#nodeImage,
        signal,
        runStep: (step, onOutput) => this.#supervisor.step(step, onOutput, signal),
      })
      return { image: await this.#images.save({ ...image, inputs }) }
    } catch (error) {
      await this.#images.discard(spec.contentId)
      if (!signal.aborted) throw error
      // The abort reason may explain the failure, such as a build timeout.
      if (signal.reason instanceof EngineFailure) throw signal.reason
      throw new EngineFailure('interrupted', 'The build was interrupted. Deploy again.', { cause: error })
    }
  }

  async pull(image: string): Promise<void> {
    throw new EngineFailure(
      'not supported',
      `The process engine runs source only, not the image ${image}. Deploy source with a Dockerfile, or start Longshore with LONGSHORE_ENGINE=docker to run images.`,
    )
  }

  removeImage = (image: string): Promise<void> => this.#images.remove(image)

  async databaseAvailabilityOf(preset: DatabasePreset): Promise<DatabaseAvailability> {
    return await this.#databases.availability(preset)
  }

  async prepareDatabase(
    database: { dockerPreset: DatabasePresetName; version: string },
    onLog: (line: EngineLogLine) => void,
  ): Promise<string> {
    const note = await this.#databases.prepare(database.dockerPreset, database.version)
    onLog({ timestamp: timestamp(this.#clock.wallMs()), stream: 'stdout', message: note })
    return `process-database/${database.dockerPreset.toLowerCase()}:${database.version}`
  }

  dumpDatabase(spec: DatabaseContainerSpec, sink: Writable, signal: AbortSignal) {
    return this.#databases.dump(spec, sink, signal)
  }

  loadDatabase(
    spec: DatabaseContainerSpec,
    source: CopySource,
    restore: RestoreSpec,
    signal: AbortSignal,
  ): Promise<void> {
    return this.#databases.load(spec, source, restore, signal)
  }

  changeDatabasePassword(spec: DatabaseContainerSpec, previous: string, signal: AbortSignal): Promise<void> {
    return this.#databases.changePassword(spec, previous, signal)
  }

  async apply(spec: ContainerSpec): Promise<EngineContainer> {
    if (spec.database) {
      const start = await this.#databases.startRequest(spec, spec.database)
      return toContainer(await this.#supervisor.ask<ContainerRecord>({ verb: 'start', start }))
    }
    let image: ProcessImage
    try {
      image = await this.#images.load(spec.image)
    } catch (error) {
      // An existing container keeps running even if its image is gone.
      const known = await this.#find(spec.name)
      if (known) return toContainer(known)
      throw error
    }
    // No check first: the supervisor starts each name once and otherwise returns the existing container.
    const root = this.#images.rootOf(image.contentId)
    const start = startRequest(spec, image, { files: this.#files, root, privateRoot: this.#privateRoot })
    return toContainer(await this.#supervisor.ask<ContainerRecord>({ verb: 'start', start }))
  }

  async stop(name: string, graceSeconds: number): Promise<void> {
    await this.#supervisor.ask({ verb: 'stop', name, graceSeconds })
  }

  async remove(name: string): Promise<void> {
    await this.#supervisor.ask({ verb: 'remove', name })
  }

  async list(): Promise<EngineContainer[]> {
    const records = await this.#supervisor.ask<ContainerRecord[]>({ verb: 'list' })
    return records.map(toContainer)
  }

  async *logs(
    name: string,
    options: { since: string | null; follow: boolean; signal: AbortSignal },
  ): AsyncGenerator<EngineLogLine> {
    const dir = path.join(this.#files.containers, assertFileName(name))
    const reader = new ContainerLogReader(dir, options.since)
    try {
      for (;;) {
        // Read the state before the lines: a container that has ended by now has written all its lines.
        const isOver = options.follow && (await this.#find(name))?.state !== 'running'
        for await (const line of reader.read()) {
          if (options.signal.aborted) return
          yield line
        }
        if (!options.follow || isOver || options.signal.aborted) return
        await sleep(this.#clock, followPeriodMs, options.signal)
      }
    } finally {
      await reader.close()
    }
  }

  async usage(name: string): Promise<Usage | null> {
    return await this.#supervisor.ask<Usage | null>({ verb: 'usage', name })
  }

  async listeners(name: string): Promise<ListenerReading | null> {
    return await this.#supervisor.ask<ListenerReading | null>({ verb: 'listeners', name })
  }

  async purge(appEnvId: string): Promise<void> {
    for (const container of await this.list()) {
      if (container.appEnvId === appEnvId) await this.remove(container.name)
    }
    await this.#images.removeOf(appEnvId)
    await removeVolumes(this.#files.volumes, appEnvId)
  }

  watch(onChange: (name: string) => void): () => void {
    // A new function for each watcher, so that the same callback can watch twice.
    const watcher = (name: string) => onChange(name)
    this.#watchers.add(watcher)
    return () => this.#watchers.delete(watcher)
  }

  #find(name: string): Promise<ContainerRecord | null> {
    return this.#supervisor.ask<ContainerRecord | null>({ verb: 'find', name })
  }
}
