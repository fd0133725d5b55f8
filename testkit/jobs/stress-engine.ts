import { systemClock } from '../../src/clock.ts'
import { createDockerEngine } from '../../src/engines/docker/engine.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { createProcessEngine } from '../../src/engines/process/engine.ts'
import { createLog } from '../../src/log.ts'

/** Which engine a process of the stress test makes for itself; all of them lead to the same containers. */
export type StressEngine =
  | { kind: 'process'; home: string; supervisorEntry: string[] }
  | { kind: 'docker'; installationId: string }

export function stressEngine(engine: StressEngine): Engine {
  const common = { clock: systemClock, log: createLog('stress', 'silent') }
  return engine.kind === 'process'
    ? createProcessEngine({ ...common, ...engine })
    : createDockerEngine({ ...common, ...engine })
}
