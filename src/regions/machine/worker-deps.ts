import type { Clock } from '../../clock.ts'
import type { Engine, EngineContainer } from '../../engines/engine.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { LogFollowers } from '../logs/followers.ts'
import type { RouteSink } from '../ports.ts'
import type { EnvironmentView } from '../rollouts/environment-view.ts'
import type { ImageBuilder } from '../rollouts/image-builder.ts'
import type { RolloutWriter } from '../rollouts/writer.ts'
import type { UsageMeter } from '../usage-meter.ts'

/** Dependencies shared by the loops of all environments. */
export interface WorkerDeps {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  nodeName: string
  /** Divides the stability window. */
  stabilityScale: number
  engineOf(region: string): Engine
  /** The host name under which the gateway serves an environment. */
  hostOf(view: EnvironmentView): string
  /** Whether the region is one of this machine's. */
  isOwn(region: string): boolean
  routes: RouteSink
  rollouts: RolloutWriter
  followers: LogFollowers
  images: ImageBuilder
  /** Gets each container before it is removed. */
  usage: UsageMeter
  /** Containers found at the first list, by name. */
  found: Map<string, EngineContainer>
  /** Requests a fresh list of the engine's containers. */
  look(): void
  /** Another version of the environment serves now: images of old ones can go. */
  deployed(appEnvId: string): void
  /** The environment runs elsewhere, and this machine has nothing left of it. */
  left(appEnvId: string): void
  /** Removes containers, files and logs of a deleted environment. */
  cleanUp(appEnvId: string): Promise<void>
}
