import type { NodeImage } from '../deploy/local-base-image.ts'
import type { DemoAgent } from './agent.ts'
import type { Sample } from './chart.ts'
import type { DemoCluster } from './cluster.ts'

/** The context of the demo's steps. */
export interface Stage {
  agent: DemoAgent
  /** The sample function. */
  exampleDir: string
  /** A folder that only this run uses. */
  workDir: string
  signal: AbortSignal
  /** Runs one step: prints its title, the result of `act` and the duration. */
  step(title: string, act: (show: (text: string) => void) => Promise<string>): Promise<void>
  samples: Sample[]
  /** Set as soon as there is something to clean up. */
  created: { engine?: string; appEnvId?: string; image?: NodeImage }
  /** Null on the engines of one machine. */
  cluster: DemoCluster | null
}
