import type { Readable } from 'node:stream'

export interface Mount {
  /** Unique in the environment: `[a-z0-9][a-z0-9-]{0,30}`. */
  volume: string
  /** Absolute path in the container, without `..` parts. */
  path: string
}

/** The volume of an environment of a regular app. */
export interface VolumeSpec {
  appEnvId: string
  accountId: string
  /** `cliEnvName` of the environment. */
  envName: string
  /** Image of the version that uses the volume. */
  image: string
  mount: Mount
  /** Its containers have ended, and must be removed before the files are copied. */
  isAtRest?: boolean
}

/** The part of an engine that copies volumes. Tars have names relative to the volume. */
export interface VolumeCopies {
  /** The files of the volume as a tar. A file that a container is writing may be copied in part. */
  dump(spec: VolumeSpec, signal: AbortSignal): AsyncIterable<Buffer>
  /**
   * Replaces the content of a volume that no container uses. May be repeated after an interruption. A failure says
   * whether the volume is still as it was.
   */
  load(spec: VolumeSpec, source: Readable, signal: AbortSignal): Promise<void>
  /** Removes a volume that no container uses; it may be gone already. */
  remove(spec: VolumeSpec): Promise<void>
}
