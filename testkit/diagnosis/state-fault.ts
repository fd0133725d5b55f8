import type { DiagnosisCause } from '../../src/contract/diagnosis.ts'
import type { DiagnosisBed } from './bed.ts'
import { nodeServer, nodeSource } from './programs.ts'

/** A fault of settings, traffic or surroundings: `make` answers the environment that has it. */
export interface StateFault {
  name: string
  cause: DiagnosisCause
  make(bed: DiagnosisBed): Promise<string>
  /** It concerns the whole account or region, so no other is played meanwhile. */
  alone?: true
  after?(bed: DiagnosisBed): Promise<unknown>
}

export const good = () => nodeSource(nodeServer())

export async function served(bed: DiagnosisBed, source = good()): Promise<string> {
  const appEnvId = await bed.environment()
  await bed.deploy(appEnvId, source)
  return appEnvId
}
