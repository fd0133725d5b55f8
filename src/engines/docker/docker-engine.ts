import os from 'node:os'
import type { Readable, Writable } from 'node:stream'
import type Docker from 'dockerode'
import type { Clock } from '../../clock.ts'
import { timestamp } from '../../clock.ts'
import type { DatabaseOffer, DatabasePreset } from '../../domain/database-presets.ts'
import type { Log } from '../../log.ts'
import { dumpTool, loadTool } from '../database-tools.ts'
import {
  type BuildSpec,
  type BuiltImage,
  type ContainerSpec,
  type DatabaseContainerSpec,
  type Engine,
  type EngineContainer,
  EngineFailure,
  type EngineLogLine,
  type Usage,
} from '../engine.ts'
import { dumpRedis, loadRedis } from '../redis-copy.ts'
import { buildImage, removeBuiltImages, removeStages } from './docker-build.ts'
import {
  askedInTime,
  connectDocker,
  type DockerConnection,
  openStream,
  orNull,
  statusOf,
  told,
} from './docker-client.ts'
import { DatabaseImages } from './docker-database-offer.ts'
import { type EngineFacts, readEngineFacts } from './docker-facts.ts'
import { ContainerList } from './docker-list.ts'
import { engineTime, linesAfter, readLogLines } from './docker-logs.ts'
import { AccountNetworks } from './docker-networks.ts'
import { pullImage } from './docker-pull.ts'
import { removeLeftContainers } from './docker-secrets.ts'
import { findDockerEndpoint } from './docker-socket.ts'
import { buildContainerPrefix, imageRepository, label } from './docker-spec.ts'
import { ContainerStarter } from './docker-start.ts'
import { usageOf } from './docker-usage.ts'
import { removeVolumes } from './docker-volumes.ts'
import { watchContainers } from './docker-watch.ts'
import { runDatabaseTool } from './run-database-tool.ts'

export interface DockerEngineOptions {
  installationId: string
  /** `unix://` or `tcp://` on loopback; default DOCKER_HOST, then the usual sockets. */
  dockerHost?: string
  /** What containers say they run on; default this machine's name. */
  nodeName?: string
  clock: Clock
  log: Log
}

/** Runs containers on any engine that speaks the Docker API. Nothing is asked of it before `open`. */
export function createDockerEngine(options: DockerEngineOptions): Engine {
  return new DockerEngine(options)
}

/** What one connection to the engine comes with. */
interface Session {
  connection: DockerConnection
  docker: Docker
  facts: EngineFacts
  networks: AccountNetworks
  starter: ContainerStarter
}

class DockerEngine implements Engine {
  readonly kind = 'docker'
  readonly capabilities = {
    builds: true,
    runsImages: true,
    isolates: true,
    scalesFunctions: true,
    volumes: true,
  }
  readonly #options: DockerEngineOptions
  readonly #nodeName: string
  readonly #databaseImages = new DatabaseImages()
  readonly #watches = new Set<AbortController>()
  #session: Promise<Session> | null = null
  readonly #containers: ContainerList

  constructor(options: DockerEngineOptions) {
    this.#options = options
    this.#nodeName = options.nodeName ?? os.hostname()
    this.#containers = new ContainerList(options.installationId, this.#nodeName)
  }

  async open(): Promise<void> {
    const { docker } = await this.#connected()
    const prefix = buildContainerPrefix(this.#options.installationId)
    await removeLeftContainers(docker, prefix, this.#options.clock.wallMs())
  }

  async close(): Promise<void> {
    for (const watch of this.#watches) watch.abort()
    const session = await this.#session?.catch(() => null)
    this.#session = null
    session?.connection.close()
  }

  async build(
    spec: BuildSpec,
    onLog: (line: EngineLogLine) => void,
    signal: AbortSignal,
  ): Promise<BuiltImage> {
    const { docker } = await this.#connected()
    const { installationId, clock, log } = this.#options
    return await buildImage({ docker, installationId, clock, log }, spec, onLog, signal)
  }

  async pull(image: string, onLog: (line: EngineLogLine) => void, signal: AbortSignal): Promise<void> {
    const { docker } = await this.#connected()
    const say = (message: string) => {
      onLog({ timestamp: timestamp(this.#options.clock.wallMs()), stream: 'stdout', message })
    }
    await pullImage(docker, image, say, signal)
  }

  async databaseOffer(preset: DatabasePreset, images: readonly string[]): Promise<DatabaseOffer> {
    const { docker } = await this.#connected()
    return await this.#databaseImages.offer(docker, preset, images, this.#options.clock.monotonicMs())
  }

  async prepareDatabase(
    database: { image: string },
    onLog: (line: EngineLogLine) => void,
    signal: AbortSignal,
  ): Promise<string> {
    await this.pull(database.image, onLog, signal)
    return database.image
  }

  async dumpDatabase(spec: DatabaseContainerSpec, sink: Writable, signal: AbortSignal): Promise<void> {
    const { database } = spec
    const tool = dumpTool(database, database.ports[0]!.port)
    if (!tool) return await dumpRedis(database, sink, signal)
    await runDatabaseTool(await this.#running(spec.name), tool, database, { output: sink, signal })
  }

  async loadDatabase(
    spec: DatabaseContainerSpec,
    source: Readable,
    mark: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { database } = spec
    const tool = loadTool(database, database.ports[0]!.port, mark)
    if (!tool) return await loadRedis(database, source, signal)
    await runDatabaseTool(await this.#running(spec.name), tool, database, { input: source, signal })
  }

  async removeImage(image: string): Promise<void> {
    const { docker } = await this.#connected()
    await removeBuiltImages(docker, this.#options.installationId, image)
  }

  async apply(spec: ContainerSpec): Promise<EngineContainer> {
    const { starter } = await this.#connected()
    return await starter.apply(spec)
  }

  async prepare(spec: ContainerSpec): Promise<void> {
    const { starter } = await this.#connected()
    await starter.prepare(spec)
  }

  async stop(name: string, graceSeconds: number): Promise<void> {
    const { docker } = await this.#connected()
    const found = await this.#containers.find(docker, name)
    if (!found?.State.Running) return
    const deadlineMs = graceSeconds * 1000 + 60_000
    try {
      await askedInTime(
        (abortSignal) => docker.getContainer(found.Id).stop({ t: graceSeconds, abortSignal }),
        deadlineMs,
      )
    } catch (error) {
      // 304: it had ended by itself. 404: removed meanwhile.
      if (![304, 404].includes(statusOf(error) ?? 0)) throw error
    }
  }

  async remove(name: string): Promise<void> {
    const { docker, starter } = await this.#connected()
    starter.forget(name)
    const found = await this.#containers.find(docker, name)
    if (!found) return
    try {
      await askedInTime((abortSignal) =>
        docker.getContainer(found.Id).remove({ force: true, v: true, abortSignal }),
      )
    } catch (error) {
      // 404: gone. 409: somebody else's removal is under way.
      if (![404, 409].includes(statusOf(error) ?? 0)) throw error
    }
  }

  async list(): Promise<EngineContainer[]> {
    const { docker, facts } = await this.#connected()
    return await this.#containers.read(docker, facts.addressMode)
  }

  async *logs(
    name: string,
    options: { since: string | null; follow: boolean; signal: AbortSignal },
  ): AsyncGenerator<EngineLogLine> {
    const { docker } = await this.#connected()
    const found = await this.#containers.find(docker, name)
    if (!found || options.signal.aborted) return
    const query = {
      stdout: true,
      stderr: true,
      timestamps: true,
      follow: options.follow,
      ...(options.since !== null && { since: engineTime(options.since) }),
    }
    try {
      const frames = await openStream(docker, `/containers/${found.Id}/logs`, query, options.signal)
      yield* linesAfter(readLogLines(frames), options.since)
    } catch (error) {
      if (options.signal.aborted || statusOf(error) === 404) return
      throw told(error)
    }
  }

  async usage(name: string): Promise<Usage | null> {
    const { docker } = await this.#connected()
    const found = await this.#containers.find(docker, name)
    if (!found?.State.Running) return null
    const once = { stream: false, 'one-shot': true } as const
    const stats = await orNull(
      askedInTime((abortSignal) =>
        docker.getContainer(found.Id).stats({ ...once, abortSignal } as typeof once),
      ),
    )
    return stats && usageOf(stats)
  }

  async forgetEnvironment(appEnvId: string): Promise<void> {
    const { docker, networks } = await this.#connected()
    const { installationId } = this.#options
    await removeBuiltImages(docker, installationId, imageRepository(appEnvId))
    await removeStages(docker, installationId, appEnvId)
    await removeVolumes(docker, installationId, appEnvId)
    const accounts = (await this.#containers.summaries(docker)).map((one) => one.Labels[label.account] ?? '')
    await networks.removeEmpty(new Set(accounts))
  }

  watch(onChange: (name: string) => void): () => void {
    const { installationId, clock, log } = this.#options
    const abort = new AbortController()
    this.#watches.add(abort)
    let lost = () => {}
    const events = {
      onEvent: (name: string) => {
        this.#containers.changed(name)
        if (!abort.signal.aborted) onChange(name)
      },
      onConnected: () => {
        lost = this.#containers.listening()
        void this.#tellAll(onChange, abort.signal)
      },
      onLost: () => lost(),
    }
    const docker = async () => (await this.#connected()).docker
    void watchContainers({ docker, installationId, events, clock, log, signal: abort.signal })
    return () => {
      this.#watches.delete(abort)
      abort.abort()
    }
  }

  /** After a gap every container may have changed. */
  async #tellAll(onChange: (name: string) => void, signal: AbortSignal): Promise<void> {
    try {
      const containers = await this.list()
      for (const { name } of containers) if (!signal.aborted) onChange(name)
    } catch (error) {
      this.#options.log.debug({ err: error }, 'the containers could not be listed after a gap in the events')
    }
  }

  async #running(name: string): Promise<Docker.Container> {
    const { docker } = await this.#connected()
    const found = await this.#containers.find(docker, name)
    if (found?.State.Running) return docker.getContainer(found.Id)
    throw new EngineFailure('database', 'The container of the database does not run.')
  }

  #connected(): Promise<Session> {
    if (!this.#session) {
      const session = this.#connect()
      this.#session = session
      // An engine that was away is tried anew the next time.
      session.catch(() => {
        if (this.#session === session) this.#session = null
      })
    }
    return this.#session
  }

  async #connect(): Promise<Session> {
    const { installationId, log } = this.#options
    const endpoint = findDockerEndpoint(this.#options.dockerHost)
    const connection = await connectDocker(endpoint)
    const { docker } = connection
    const facts = await readEngineFacts(docker, endpoint.kind, log)
    const networks = new AccountNetworks(docker, installationId, log)
    const place = { installationId, nodeName: this.#nodeName, ...facts }
    return { connection, docker, facts, networks, starter: new ContainerStarter(docker, networks, place) }
  }
}
