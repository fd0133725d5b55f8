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
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { ClusterClient } from './client.ts'
import type { ClusterDatabases } from './databases/engine.ts'
import type { ClusterJobs } from './jobs/engine.ts'

interface ClusterEngineDeps {
  client: ClusterClient
  jobs: ClusterJobs
  databases: ClusterDatabases
  /** Builds and pushes to the registry of the region; null: the region has no builder. */
  build: Engine['build'] | null
  /** The configuration gives the region a domain for functions. */
  wantsFunctions: boolean
  log: Log
}

/** What the platform needs of a cluster besides `ClusterRegion`: builds, attempts of jobs, and what works there. */
export class ClusterEngine implements Engine {
  readonly kind = 'kubernetes'
  readonly #deps: ClusterEngineDeps
  #hasKnative = true

  constructor(deps: ClusterEngineDeps) {
    this.#deps = deps
  }

  get capabilities(): EngineCapabilities {
    const { build, wantsFunctions } = this.#deps
    return { builds: build !== null, isolates: false, scalesFunctions: wantsFunctions && this.#hasKnative }
  }

  isolation(): Isolation {
    return {
      metadataBlocked: false,
      reason: 'The network plugin of the cluster decides whether its NetworkPolicy objects are enforced.',
    }
  }

  /** Finds out what the cluster has. One that is away is no reason not to start: its workloads keep running. */
  async open(): Promise<void> {
    const { client, wantsFunctions, log } = this.#deps
    try {
      this.#hasKnative = await client.has('KnativeService')
      if (wantsFunctions && !this.#hasKnative)
        log.warn('the cluster has no Knative Serving, so functions cannot run there (F5)')
    } catch (error) {
      log.warn({ err: error }, 'the cluster does not answer; its region is unavailable until it does')
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

  dumpDatabase(...args: Parameters<NonNullable<Engine['dumpDatabase']>>): Promise<void> {
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
