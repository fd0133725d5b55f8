import type { MissingCapability } from '../../contract/regions.ts'
import type { DatabaseAvailability, DatabasePreset } from '../../domain/databases/presets.ts'
import type {
  BuildSpec,
  BuiltImage,
  ContainerSpec,
  Engine,
  EngineCapabilities,
  EngineContainer,
  EngineLogLine,
  Isolation,
  Usage,
} from '../../engines/engine.ts'
import type { VolumeCopies } from '../../engines/volume-copies.ts'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { ClusterClient } from './client.ts'
import type { ClusterDatabases } from './databases/engine.ts'
import type { ClusterJobs } from './jobs/engine.ts'
import { type ClusterFacts, type PreflightOptions, preflight } from './preflight.ts'

interface ClusterEngineDeps {
  client: ClusterClient
  jobs: ClusterJobs
  databases: ClusterDatabases
  volumes: VolumeCopies
  /** Builds and pushes to the registry of the region; null: the region has no builder. */
  build: Engine['build'] | null
  wants: PreflightOptions
  log: Log
}

/** The parts of a cluster that `ClusterRegion` does not cover: builds, attempts of jobs, and working capabilities. */
export class ClusterEngine implements Engine {
  readonly kind = 'kubernetes'
  readonly volumes: VolumeCopies
  readonly #deps: ClusterEngineDeps
  #facts: ClusterFacts = { hasKnative: true, functionDomain: null, hasPostgres: false, missing: [] }
  #problem: AppError | null = null

  constructor(deps: ClusterEngineDeps) {
    this.#deps = deps
    this.volumes = deps.volumes
  }

  get capabilities(): EngineCapabilities {
    const { build, wants } = this.#deps
    const scalesFunctions = wants.functionDomain !== undefined && this.#facts.hasKnative
    return { builds: build !== null, isolates: false, scalesFunctions }
  }

  isolation(): Isolation {
    return {
      metadataBlocked: false,
      reason: 'The network plugin of the cluster decides whether its NetworkPolicy objects are enforced.',
    }
  }

  /** Capabilities that the regions file requests but that did not work at the last check. */
  get missing(): readonly MissingCapability[] {
    return this.#facts.missing
  }

  get hasKnative(): boolean {
    return this.#facts.hasKnative
  }

  /** Where functions answer: what Knative serves, else what the regions file says. */
  get functionDomain(): string | null {
    const { functionDomain } = this.#deps.wants
    return functionDomain === undefined ? null : (this.#facts.functionDomain ?? functionDomain)
  }

  /** CloudNativePG runs. */
  get hasPostgres(): boolean {
    return this.#facts.hasPostgres
  }

  /** Why the cluster could not be used when it was last checked; null when it could. */
  get problem(): AppError | null {
    return this.#problem
  }

  /** An unreachable cluster does not stop the start: its workloads keep running, and other regions serve. */
  async open(): Promise<void> {
    await this.check()
  }

  /** Checks the features of the cluster and sets `problem`. Logs changes. */
  async check(): Promise<void> {
    const { client, wants, log } = this.#deps
    try {
      const before = this.#facts.missing
      this.#facts = await preflight(client, wants)
      this.#problem = null
      for (const { capability, reason } of this.#facts.missing)
        if (!before.some((one) => one.reason === reason)) log.warn({ capability }, reason)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (this.#problem?.message !== error.message)
        log.warn({ err: error }, 'the cluster cannot be used; its region is unavailable until it can')
      this.#problem = error
      client.forgetCredentials()
    }
  }

  async close(): Promise<void> {}

  async build(
    spec: BuildSpec,
    onLog: (line: EngineLogLine) => void,
    signal: AbortSignal,
  ): Promise<BuiltImage> {
    const { build } = this.#deps
    if (build) return build(spec, onLog, signal)
    throw new AppError('unavailable', 'This region cannot build images', {
      details:
        'Deploy an image with deploy-app-env-image, or set buildkit and registry of the region in the configuration file.',
    })
  }

  /** The nodes of the cluster pull. */
  async pull(): Promise<void> {}

  async removeImage(): Promise<void> {}

  databaseAvailabilityOf(preset: DatabasePreset): Promise<DatabaseAvailability> {
    return this.#deps.databases.availabilityOf(preset)
  }

  async prepareDatabase({ image }: { image: string }): Promise<string> {
    return image
  }

  dumpDatabase(...args: Parameters<NonNullable<Engine['dumpDatabase']>>) {
    return this.#deps.databases.dump(...args)
  }

  loadDatabase(...args: Parameters<NonNullable<Engine['loadDatabase']>>): Promise<void> {
    return this.#deps.databases.load(...args)
  }

  changeDatabasePassword(...args: Parameters<NonNullable<Engine['changeDatabasePassword']>>): Promise<void> {
    return this.#deps.databases.changePassword(...args)
  }

  apply(spec: ContainerSpec): Promise<EngineContainer> {
    return this.#deps.jobs.apply(spec)
  }

  stop(name: string, graceSeconds: number): Promise<void> {
    return this.#deps.jobs.stop(name, graceSeconds)
  }

  remove(name: string): Promise<void> {
    return this.#deps.jobs.remove(name)
  }

  /** The attempts of jobs. */
  list(): Promise<EngineContainer[]> {
    return this.#deps.jobs.list()
  }

  logs(name: string, options: Parameters<Engine['logs']>[1]): AsyncIterable<EngineLogLine> {
    return this.#deps.jobs.logs(name, options)
  }

  async usage(): Promise<Usage | null> {
    return null
  }

  /** `ClusterRegion` removes the objects of a deleted environment. */
  async purge(): Promise<void> {}

  watch(): () => void {
    return () => {}
  }
}
