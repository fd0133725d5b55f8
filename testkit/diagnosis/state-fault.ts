import type { DiagnosisCause } from '../../src/contract/diagnosis.ts'
import type { DiagnosisFixture } from './fixture.ts'
import { nodeServer, nodeSource } from './programs.ts'

/** A fault of settings, traffic or surroundings: `make` answers the environment that has it. */
export interface StateFault {
  name: string
  cause: DiagnosisCause
  make(fixture: DiagnosisFixture): Promise<string>
  /** It concerns the whole account or region, so no other is injected meanwhile. */
  alone?: true
  after?(fixture: DiagnosisFixture): Promise<unknown>
}

export const good = () => nodeSource(nodeServer())

export async function served(fixture: DiagnosisFixture, source = good()): Promise<string> {
  const appEnvId = await fixture.environment()
  await fixture.deploy(appEnvId, source)
  return appEnvId
}
