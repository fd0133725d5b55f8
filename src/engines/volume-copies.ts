import type { Readable } from 'node:stream'
import type { ContainerSpec, Mount } from './engine.ts'

/** The volume of an environment of a regular app. */
export interface VolumeSpec extends Pick<ContainerSpec, 'appEnvId' | 'accountId' | 'image'> {
  /** `cliEnvName` of the environment. */
  envName: string
  mount: Mount
}

/** The part of an engine that copies volumes. Tars have names relative to the volume. */
export interface VolumeCopies {
  /** What is in the volume, as a tar; while a container writes to it, what it writes may be there in part. */
  dump(spec: VolumeSpec, signal: AbortSignal): AsyncIterable<Buffer>
  /**
   * Replaces the content of a volume that no container uses. May be repeated after an interruption. A failure says
   * whether the volume is still as it was.
   */
  load(spec: VolumeSpec, source: Readable, signal: AbortSignal): Promise<void>
}
