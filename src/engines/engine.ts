import type { Readable, Writable } from 'node:stream'
import type { DatabasePresetName } from '../contract/fields.ts'
import type { DatabaseAccess } from '../domain/backups/backup.ts'
import type { DatabaseAvailability, DatabasePreset } from '../domain/databases/presets.ts'
import type { ListeningSocket } from './listening-sockets.ts'
import type { Mount, VolumeCopies } from './volume-copies.ts'

/** Address of a container's port, as seen from this machine. */
export interface Address {
  host: string
  port: number
  /** A proxy of the engine accepts connections before the container listens, then closes them at once. */
  proxied?: true
}

/** The sockets on which a container's own processes listen. */
export interface ListenerReading {
  sockets: ListeningSocket[]
  /** Why `sockets` may be incomplete, as a sentence; absent if it is complete. */
  unreadable?: string
}

/** The desired state of one container. `name` identifies it, so applying the same spec again is harmless. */
export interface ContainerSpec {
  /** Unique in the installation, derived from row ids and the attempt: `[a-z0-9][a-z0-9-]{0,62}`. */
  name: string
  podId: string
  appEnvId: string
  accountId: string
  /** The version that runs; engines only show it, as a label, to an operator. */
  contentId: string
  /** The result of `build`, or an image reference if the engine runs images. */
  image: string
  /** Port the code should listen on; null if it serves nothing. The engine sets PORT. */
  port: number | null
  env: Record<string, string>
  cpuMillicores: number
  memoryMb: number
  /** Name by which other containers of the account connect to this environment. */
  internalHost: string
  /**
   * Persistent volumes. A volume is created on first use, belongs to the environment, survives its containers and is
   * removed by `purge`. An empty one starts with the image's content at `path`.
   */
  mounts?: readonly Mount[]
  /** Set for a managed database: the engine knows how to run each preset; `image` comes from `prepareDatabase`. */
  database?: DatabaseSpec
  /**
   * Program and arguments to run instead of the image's ENTRYPOINT and CMD, without a shell. Null or absent: the
   * image's.
   */
  command?: readonly string[] | null
  /** Path in the container, created if missing; relative to the image's. Null or absent: the image's. */
  workingDir?: string | null
}

export type DatabaseContainerSpec = ContainerSpec & { database: DatabaseSpec }

/** A managed database to run. Names and passwords contain only letters, digits and `_`; parameters are validated. */
export interface DatabaseSpec {
  dockerPreset: DatabasePresetName
  version: string
  user: string
  password: string
  adminPassword: string
  /** Created at the first start. */
  database: string
  /** Server settings, by the server's own names. */
  parameters: Record<string, string>
  /** Every port it serves; `hostPort` is on 127.0.0.1. Readiness is checked on the first one. */
  ports: readonly { name: string; port: number; hostPort: number }[]
  /** Keeps the data on a volume of the environment; otherwise the data is removed with the container. */
  persistent: boolean
  /**
   * Set for a replica: it starts as a copy of the database at this address and follows it. `host` and `port` are
   * inside the account's network, `hostPort` is on 127.0.0.1.
   */
  primary?: { host: string; port: number; hostPort: number }
}

export type ContainerState = 'created' | 'running' | 'exited'

/** One container as the engine reports it. */
export interface EngineContainer {
  name: string
  podId: string
  appEnvId: string
  state: ContainerState
  /** ISO 8601; null until it has run. */
  startedAt: string | null
  finishedAt: string | null
  exitCode: number | null
  outOfMemory: boolean
  /** Null if it does not run or serves no port. */
  address: Address | null
  nodeName: string
}

/** Why a build, an image or a start failed; the reconciler stores it in `currentDeployment.failure`. */
export type FailureReason =
  | 'image pull'
  | 'no Dockerfile'
  | 'build step'
  | 'build timeout'
  | 'lost upload'
  | 'bad archive'
  | 'git'
  | 'exited'
  | 'exits-at-once'
  | 'missing-module'
  | 'wrong-port'
  | 'loopback-bind'
  | 'start-timeout'
  | 'out-of-memory'
  | 'failing-checks'
  | 'unreachable'
  | 'bad-command'
  | 'timeout'
  | 'not supported'
  | 'interrupted'
  | 'database'

/** A failure of the tenant's own code or settings. The message names the problem and its fix. */
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
  /** Folder with the unpacked source, read-only for the engine. */
  sourceDir: string
  /** Relative to `sourceDir`; COPY reads from it. */
  contextDir: string
  /** Relative to `contextDir`; ignored if `dockerfileContent` is set. */
  dockerfilePath: string
  /** Dockerfile text that replaces the one in the source. */
  dockerfileContent: string | null
  /** Build-time variables (types BUILD and BOTH), offered as build arguments. */
  buildArgs: Record<string, string>
  /** The image needs no CMD or ENTRYPOINT: each of its containers gets a `command`. */
  runsCommands?: boolean
  /** The values in `buildArgs` that must not end up in an image layer or a log line. */
  secretBuildArgs: readonly string[]
}

/** Shorter secret build arguments are not masked: they occur by chance in too many words of a build's output. */
export const shortestBuildSecret = 4

export interface BuiltImage {
  /** The value for `ContainerSpec.image`. */
  image: string
}

/** What an image runs by itself: `cmd` are the arguments that a caller may replace. */
export interface ImageCommand {
  entrypoint: string[]
  cmd: string[]
}

export interface EngineLogLine {
  /** ISO 8601 with at least milliseconds. */
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
  isolates: boolean
  scalesFunctions: boolean
}

/** Destinations that containers cannot connect to, besides other accounts. */
export interface Isolation {
  /** Instance metadata of the cloud and services of the engine's own machine cannot be reached. */
  metadataBlocked: boolean
  /** Why not, as a sentence. */
  reason?: string
}

/** Something that an engine keeps for an environment; null: for one that it does not name. */
export interface OwnedThing {
  kind: 'container' | 'image' | 'volume'
  name: string
  appEnvId: string | null
}

/** A restore of a database. */
export interface RestoreSpec {
  restoreId: string
  /** What roles had at the time of the dump; null for dumps that do not hold it. */
  access: DatabaseAccess | null
}

/** Opens a copy from its beginning: a copy that is checked before it replaces data is read twice. The caller closes it. */
export type CopySource = () => Promise<Readable>

/**
 * The port to an engine that runs containers. Every method is idempotent and none uses the store. Failures of the
 * tenant's code throw `EngineFailure`; an unavailable engine throws an `AppError` of kind `unavailable` with the
 * remedy; any other error is a bug.
 */
export interface Engine {
  readonly kind: 'process' | 'docker' | 'kubernetes' | 'fake'
  readonly capabilities: EngineCapabilities
  /** An engine without it copies no volumes. */
  readonly volumes?: VolumeCopies
  /** How containers are isolated from the machine, as last seen. An engine without this method does not isolate. */
  isolation?(): Isolation
  /** Tries whether this machine offers what isolation needs; a sentence if not. */
  isolationProblem?(): Promise<string | null>

  /** Makes the engine ready (networks, supervisor), or throws `unavailable` with the remedy. */
  open(): Promise<void>
  /** Closes sockets and timers; containers keep running. */
  close(): Promise<void>
  /** Removes networks and firewall rules that no container uses any more. */
  tidy?(): Promise<void>

  /** Builds source into an image. `onLog` receives each line as it is printed. */
  build(spec: BuildSpec, onLog: (line: EngineLogLine) => void, signal: AbortSignal): Promise<BuiltImage>
  /** Makes an image reference usable on this engine, or throws `EngineFailure('image pull', …)`. */
  pull(image: string, onLog: (line: EngineLogLine) => void, signal: AbortSignal): Promise<void>
  /** ENTRYPOINT and CMD of an image that was built or pulled; null if it has neither. Optional. */
  imageCommand?(image: string): Promise<ImageCommand | null>
  /** Which versions of a preset can run here. An engine without this method runs none. */
  databaseAvailabilityOf?(preset: DatabasePreset): Promise<DatabaseAvailability>
  /** Makes a database version runnable and returns the value for `ContainerSpec.image`. Throws as `pull` does. */
  prepareDatabase?(
    database: { dockerPreset: DatabasePresetName; version: string; image: string },
    onLog: (line: EngineLogLine) => void,
    signal: AbortSignal,
  ): Promise<string>
  /** Removes an image made by `build`; unknown images are ignored. Never removes an image built by somebody else. */
  removeImage(image: string): Promise<void>

  /** Creates and starts the container unless it exists, and returns its state. Does not wait until it listens. */
  apply(spec: ContainerSpec): Promise<EngineContainer>
  /** Creates the container without starting it, to make a later `apply` faster. Optional. */
  prepare?(spec: ContainerSpec): Promise<void>
  /** Ends the process: SIGTERM, then SIGKILL after `graceSeconds`. The container stays listed as exited. */
  stop(name: string, graceSeconds: number): Promise<void>
  /** Removes the container and kills it if it runs; unknown names are ignored. */
  remove(name: string): Promise<void>
  /** Every container of this installation in any state. The source of truth after a restart. */
  list(): Promise<EngineContainer[]>

  /** Lines after `since` (exclusive, an ISO time); with `follow`, until the container ends or the signal aborts. */
  logs(
    name: string,
    options: { since: string | null; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<EngineLogLine>
  /**
   * Writes a consistent dump of a running database to `sink`, which stays open. Rejects with an `EngineFailure` that
   * contains the server's error without secrets. Resolves to what roles have, if the dump holds it.
   */
  dumpDatabase?(
    spec: DatabaseContainerSpec,
    sink: Writable,
    signal: AbortSignal,
  ): Promise<DatabaseAccess | null>
  /**
   * Replaces the data by a dump, after checking that the server can load it, if that can be checked. A failure says whether
   * the old data is gone. May be repeated after an interruption: `restoreId` identifies the restore, so that a
   * completed one is not applied twice, if the server can store the id.
   */
  loadDatabase?(
    spec: DatabaseContainerSpec,
    source: CopySource,
    restore: RestoreSpec,
    signal: AbortSignal,
  ): Promise<void>
  /** Changes the password of a running database from `previous` to that of `spec`; may be repeated. */
  changeDatabasePassword?(spec: DatabaseContainerSpec, previous: string, signal: AbortSignal): Promise<void>
  /** Null if it does not run. */
  usage(name: string): Promise<Usage | null>
  /** Where the container's processes listen; null if it does not run or this is unknown. */
  listeners?(name: string): Promise<ListenerReading | null>
  /** Removes the volumes, networks and files of a deleted environment. */
  purge(appEnvId: string): Promise<void>

  /** Everything of this installation that belongs to an environment. Needs no `open`. */
  owned?(): Promise<OwnedThing[]>

  /** Calls back when something may have changed. Only a hint; `list` is authoritative. */
  watch(onChange: (name: string) => void): () => void
}
