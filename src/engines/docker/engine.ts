import os from 'node:os'
import type { Writable } from 'node:stream'
import type Docker from 'dockerode'
import { timestamp } from '../../clock.ts'
import type { DatabaseAvailability, DatabasePreset } from '../../domain/databases/presets.ts'
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
import { buildImage } from './build.ts'
import { removeBuiltImages, removeStages } from './built-images.ts'
import { engineError, openStream, orNull, requestInTime, statusOf } from './client.ts'
import { DatabaseImages } from './database-availability.ts'
import type { HostFirewall } from './host-firewall.ts'
import { imageRepository } from './image-names.ts'
import { commandOf } from './image-user.ts'
import { ContainerList } from './list.ts'
import { readListeners } from './listeners.ts'
import { engineTime, linesAfter, readLogLines } from './logs.ts'
import { buildContainerPrefix, label } from './names.ts'
import { ownedThings } from './owned-things.ts'
import { pullImage } from './pull.ts'
import { changeDatabasePassword, dumpDatabase, loadDatabase } from './run-database-tool.ts'
import { removeLeftContainers } from './secrets.ts'
import { type DockerEngineOptions, firewallOf, openSession, type Session } from './session.ts'
import { usageOf } from './usage.ts'
import { removeHolder, VolumeArchives } from './volume-copies.ts'
import { removeVolumes } from './volumes.ts'
import { watchContainers } from './watch.ts'

/** Runs containers on any engine with the Docker API. Sends no request before `open`. */
export function createDockerEngine(options: DockerEngineOptions): Engine {
  return new DockerEngine(options)
}

class DockerEngine implements Engine {
  readonly kind = 'docker'
  readonly capabilities = { builds: true, isolates: true, scalesFunctions: true }
  readonly volumes: VolumeArchives
  readonly #options: DockerEngineOptions
  readonly #nodeName: string
  readonly #databaseImages = new DatabaseImages()
  readonly #watches = new Set<AbortController>()
  readonly #firewall: HostFirewall
  readonly #containers: ContainerList
  #session: Promise<Session> | null = null

  constructor(options: DockerEngineOptions) {
    this.#options = options
    this.#firewall = firewallOf(options)
    const docker = async () => (await this.#connected()).docker
    this.volumes = new VolumeArchives(options.installationId, docker)
    this.#nodeName = options.nodeName ?? os.hostname()
    this.#containers = new ContainerList(options.installationId, this.#nodeName)
  }

  owned = async () => ownedThings((await this.#connected()).docker, this.#options.installationId)

  isolation(): Isolation {
    return this.#firewall.isolation
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
    session?.endChecks()
    session?.connection.close()
  }

  async tidy(): Promise<void> {
    const { docker, networks } = await this.#connected()
    await networks.removeEmpty(await this.#accountsWithContainers(docker))
  }

  async build(
    spec: BuildSpec,
    onLog: (line: EngineLogLine) => void,
    signal: AbortSignal,
  ): Promise<BuiltImage> {
    const { docker, networks } = await this.#connected()
    return await networks.withBuildNetwork((network) =>
      buildImage({ ...this.#options, docker, network }, spec, onLog, signal),
    )
  }

  async pull(image: string, onLog: (line: EngineLogLine) => void, signal: AbortSignal): Promise<void> {
    const { docker } = await this.#connected()
    const at = () => timestamp(this.#options.clock.wallMs())
    await pullImage(docker, image, (message) => onLog({ timestamp: at(), stream: 'stdout', message }), signal)
  }

  imageCommand = async (image: string) => commandOf((await this.#connected()).docker, image)

  async databaseAvailabilityOf(preset: DatabasePreset): Promise<DatabaseAvailability> {
    const { docker } = await this.#connected()
    return await this.#databaseImages.availability(docker, preset, this.#options.clock.monotonicMs())
  }

  async prepareDatabase(
    database: { image: string },
    onLog: (line: EngineLogLine) => void,
    signal: AbortSignal,
  ): Promise<string> {
    await this.pull(database.image, onLog, signal)
    return database.image
  }

  dumpDatabase(spec: DatabaseContainerSpec, sink: Writable, signal: AbortSignal) {
    return dumpDatabase(() => this.#running(spec.name), spec.database, sink, signal)
  }

  loadDatabase(spec: DatabaseContainerSpec, source: CopySource, restore: RestoreSpec, signal: AbortSignal) {
    return loadDatabase(() => this.#running(spec.name), spec.database, source, { restore, signal })
  }

  changeDatabasePassword(spec: DatabaseContainerSpec, previous: string, signal: AbortSignal): Promise<void> {
    return changeDatabasePassword(() => this.#running(spec.name), spec.database, previous, signal)
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
      await requestInTime(
        (abortSignal) => docker.getContainer(found.Id).stop({ t: graceSeconds, abortSignal }),
        deadlineMs,
      )
    } catch (error) {
      // 304: already stopped. 404: removed meanwhile.
      if (![304, 404].includes(statusOf(error) ?? 0)) throw error
    }
  }

  async remove(name: string): Promise<void> {
    const { docker, starter } = await this.#connected()
    starter.forget(name)
    const found = await this.#containers.find(docker, name)
    if (!found) return
    try {
      await requestInTime((abortSignal) =>
        docker.getContainer(found.Id).remove({ force: true, v: true, abortSignal }),
      )
    } catch (error) {
      // 404: already gone. 409: another removal is in progress.
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
      throw engineError(error)
    }
  }

  async usage(name: string): Promise<Usage | null> {
    const { docker } = await this.#connected()
    const found = await this.#containers.find(docker, name)
    if (!found?.State.Running) return null
    const once = { stream: false, 'one-shot': true } as const
    const stats = await orNull(
      requestInTime((abortSignal) =>
        docker.getContainer(found.Id).stats({ ...once, abortSignal } as typeof once),
      ),
    )
    return stats && usageOf(stats)
  }

  async listeners(name: string): Promise<ListenerReading | null> {
    const { docker, facts } = await this.#connected()
    const found = await this.#containers.find(docker, name)
    return found?.State.Running ? readListeners(found, facts.addressMode) : null
  }

  async purge(appEnvId: string): Promise<void> {
    const { docker, networks } = await this.#connected()
    const { installationId } = this.#options
    // A backup that runs has a container of the image.
    await removeHolder(docker, installationId, appEnvId)
    await removeBuiltImages(docker, installationId, imageRepository(appEnvId))
    await removeStages(docker, installationId, appEnvId)
    await removeVolumes(docker, installationId, appEnvId)
    await networks.removeEmpty(await this.#accountsWithContainers(docker))
  }

  async #accountsWithContainers(docker: Docker): Promise<ReadonlySet<string>> {
    const summaries = await this.#containers.summaries(docker)
    return new Set(summaries.map((one) => one.Labels[label.account] ?? ''))
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
        void this.#notifyAll(onChange, abort.signal)
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

  /** After a gap in the events, every container may have changed. */
  async #notifyAll(onChange: (name: string) => void, signal: AbortSignal): Promise<void> {
    try {
      const containers = await this.list()
      for (const { name } of containers) if (!signal.aborted) onChange(name)
    } catch (error) {
      this.#options.log.debug({ err: error }, 'cannot list the containers after a gap in the events')
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
      const session = openSession(this.#options, this.#nodeName, this.#firewall)
      this.#session = session
      // Connect again on the next call if this attempt fails.
      session.catch(() => {
        if (this.#session === session) this.#session = null
      })
    }
    return this.#session
  }
}
