import type { Clock } from '../clock.ts'
import type { Engine, EngineContainer } from '../engines/engine.ts'
import type { Log } from '../log.ts'
import type { Db } from '../store/db.ts'
import type { SecretBox } from '../store/secret-box.ts'
import type { ImageMaker } from './image-maker.ts'
import type { LogFollowers } from './log-followers.ts'
import type { RouteSink } from './ports.ts'
import type { Transitions } from './transitions.ts'
import type { UsageMeter } from './usage-meter.ts'

/** What every environment's loop shares. */
export interface LoopParts {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  nodeName: string
  engineOf(region: string): Engine
  routes: RouteSink
  transitions: Transitions
  followers: LogFollowers
  images: ImageMaker
  /** Told of each container before it is removed. */
  usage: UsageMeter
  /** Containers found at the first list, by name. */
  found: Map<string, EngineContainer>
  /** Asks for a fresh list of the engine's containers. */
  look(): void
  /** Removes containers, files and logs of an environment that is gone. */
  cleanUp(appEnvId: string): Promise<void>
}
