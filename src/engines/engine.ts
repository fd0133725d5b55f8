import type { Readable, Writable } from 'node:stream'
import type { DatabasePresetName } from '../contract/databases.ts'
import type { DatabaseOffer, DatabasePreset } from '../domain/database-presets.ts'

/** Where a container answers, as seen from this machine. */
export interface Address {
  host: string
  port: number
  /** A proxy of the engine's accepts here before the code listens, and then closes at once. */
  proxied?: true
}

/** One container the platform wishes for. Applying the same spec again is harmless: `name` decides. */
export interface ContainerSpec {
  /** Unique in the installation, derived from row ids and the attempt: `[a-z0-9][a-z0-9-]{0,62}`. */
  name: string
  podId: string
  appEnvId: string
  accountId: string
  contentId: string
  /** Tells which settings the container was made from; the reconciler compares it, the engine only keeps it. */
  template: string
  /** What `build` returned, or a container image reference when the engine runs images. */
  image: string
  /** Port the code should listen on; null when it serves nothing. The engine sets PORT. */
  port: number | null
  env: Record<string, string>
  cpuMillicores: number
  memoryMb: number
  /** Name under which other containers of the account reach this environment. */
  internalHost: string
  /**
   * Persistent volumes. One is made when first named, belongs to the environment, outlives its containers and goes
   * with `forgetEnvironment`. An empty one begins with what the image holds at `path`.
   */
  mounts?: readonly Mount[]
  /** Set for a managed database: the engine knows how to run each preset, `image` comes from `prepareDatabase`. */
  database?: DatabaseSpec
  /**
   * Program and arguments to run instead of what the image says (its ENTRYPOINT and CMD), each one word as it is: no
   * shell is between. Null or absent: what the image says.
   */
  command?: readonly string[] | null
  /** Path in the container, relative ones from what the image says; made when it is not there. Null or absent: what the image says. */
  workingDir?: string | null
}

export type DatabaseContainerSpec = ContainerSpec & { database: DatabaseSpec }

/** A managed database to run. Names and passwords are letters, digits and `_` only, parameters checked. */
export interface DatabaseSpec {
  dockerPreset: DatabasePresetName
  version: string
  user: string
  password: string
  adminPassword: string
  /** Made at the first start. */
  database: string
  /** Settings of the server, by its own names. */
  parameters: Record<string, string>
  /** Every port it answers on; `hostPort` is taken on 127.0.0.1. The first one tells readiness. */
  ports: readonly { name: string; port: number; hostPort: number }[]
  /** Keeps the data on a volume of the environment; otherwise it goes with the container. */
  persistent: boolean
  /**
   * Set for a replica: it begins as a copy of the database that answers there and follows it. `host` and `port` are
   * those inside the account's network, `hostPort` the one of 127.0.0.1.
   */
  primary?: { host: string; port: number; hostPort: number }
}

export interface Mount {
  /** Unique in the environment: `[a-z0-9][a-z0-9-]{0,30}`. */
  volume: string
  /** Absolute path in the container, without `..` parts. */
  path: string
}

export type ContainerState = 'created' | 'running' | 'exited'

/** One container as the engine reports it. */
export interface EngineContainer {
  name: string
  podId: string
  appEnvId: string
  contentId: string
  template: string
  state: ContainerState
  /** ISO 8601; null until it ran. */
  startedAt: string | null
  finishedAt: string | null
  exitCode: number | null
  outOfMemory: boolean
  /** Null while it does not run or serves no port. */
  address: Address | null
  nodeName: string
}

/** Why a build, an image or a start failed; the reconciler puts it into `currentDeployment.failure`. */
export type FailureReason =
  | 'image pull'
  | 'no Dockerfile'
  | 'build step'
  | 'build timeout'
  | 'bad archive'
  | 'git'
  | 'exited'
  | 'port not listening'
  | 'out of memory'
  | 'timeout'
  | 'not supported'
  | 'interrupted'
  | 'database'

/** A failure of the tenant's own code or settings, not of the platform: says what and how to mend it. */
export class EngineFailure extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.name = 'EngineFailure'
    this.reason = reason
  }
}

export interface BuildSpec {
  appEnvId: string
  contentId: string
  /** Folder with the unpacked source; the engine may read it, never write it. */
  sourceDir: string
  /** Relative to `sourceDir`; where COPY reads from. */
  contextDir: string
  /** Relative to `contextDir`; used unless `dockerfileContent` is given. */
  dockerfilePath: string
  /** Dockerfile text that replaces the one in the source. */
  dockerfileContent: string | null
  /** Build-time variables (types BUILD and BOTH), offered as build arguments. */
  buildArgs: Record<string, string>
  /** The image need not say what to run: each of its containers gets a `command`. */
  runsCommands?: boolean
  /** The values among `buildArgs` that must not stay in an image layer or a log line. */
  secretBuildArgs: readonly string[]
}

export interface BuiltImage {
  /** What `ContainerSpec.image` takes. */
  image: string
}

export interface EngineLogLine {
  /** ISO 8601 with milliseconds or finer. */
  timestamp: string
  stream: 'stdout' | 'stderr'
  message: string
}

export interface Usage {
  /** CPU time used since the container started, in milliseconds. */
  cpuMs: number
  memoryMb: number
}

export interface EngineCapabilities {
  builds: boolean
  runsImages: boolean
  isolates: boolean
  scalesFunctions: boolean
  volumes: boolean
}

/**
 * The port to whatever runs containers. Every verb may be repeated safely; nothing here knows the store.
 * Failures of the tenant's code throw `EngineFailure`; an engine that is away throws an `AppError` of kind
 * `unavailable` that says how to bring it back; anything else is a bug.
 */
export interface Engine {
  readonly kind: 'process' | 'docker' | 'kubernetes' | 'fake'
  readonly capabilities: EngineCapabilities

  /** Makes the engine ready (networks, supervisor), or throws `unavailable` with the remedy. */
  open(): Promise<void>
  /** Lets go of sockets and timers; containers keep running. */
  close(): Promise<void>

  /** Builds source into an image. `onLog` gets every line while it builds. */
  build(spec: BuildSpec, onLog: (line: EngineLogLine) => void, signal: AbortSignal): Promise<BuiltImage>
  /** Makes an image reference runnable here, or throws `EngineFailure('image pull', …)`. */
  pull(image: string, onLog: (line: EngineLogLine) => void, signal: AbortSignal): Promise<void>
  /** What of a preset can run here; `images` are its versions' images. An engine without this runs none. */
  databaseOffer?(preset: DatabasePreset, images: readonly string[]): Promise<DatabaseOffer>
  /** Makes a version of a database runnable and returns what `ContainerSpec.image` takes, or throws as `pull`. */
  prepareDatabase?(
    database: { dockerPreset: DatabasePresetName; version: string; image: string },
    onLog: (line: EngineLogLine) => void,
    signal: AbortSignal,
  ): Promise<string>
  /** Removes what `build` made; unknown images are fine. Never removes an image this platform did not build. */
  removeImage(image: string): Promise<void>

  /** Creates and starts the container unless it exists; returns it as it is. Does not wait until it listens. */
  apply(spec: ContainerSpec): Promise<EngineContainer>
  /** Creates the container without starting it, so that a later `apply` is short. Optional speed-up. */
  prepare?(spec: ContainerSpec): Promise<void>
  /** Ends the process: SIGTERM, then SIGKILL after `graceSeconds`. The container stays listed as exited. */
  stop(name: string, graceSeconds: number): Promise<void>
  /** Removes the container, killing it when it runs; unknown names are fine. */
  remove(name: string): Promise<void>
  /** Every container of this installation, whatever its state. The truth after a restart. */
  list(): Promise<EngineContainer[]>

  /** Lines from `since` (exclusive, an ISO time) on; with `follow` goes on until the container ends or the signal. */
  logs(
    name: string,
    options: { since: string | null; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<EngineLogLine>
  /**
   * Copies a database that runs in the container of `spec` into `sink`, which stays open, as one consistent whole
   * while it serves. Rejects with an `EngineFailure` in the server's own words, without secrets.
   */
  dumpDatabase?(spec: DatabaseContainerSpec, sink: Writable, signal: AbortSignal): Promise<void>
  /**
   * Replaces its data by what `dumpDatabase` wrote. A restore that was begun before may be done again: `mark` tells
   * it from others, so that one that came to its end is not repeated where the server can remember it.
   */
  loadDatabase?(
    spec: DatabaseContainerSpec,
    source: Readable,
    mark: string,
    signal: AbortSignal,
  ): Promise<void>
  /** Null when it does not run. */
  usage(name: string): Promise<Usage | null>
  /** Removes volumes, networks and files kept for an environment that is gone. */
  forgetEnvironment(appEnvId: string): Promise<void>

  /** Calls back when something may have changed. A hint only: `list` is the truth. */
  watch(onChange: (name: string) => void): () => void
}
