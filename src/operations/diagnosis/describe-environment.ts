import { diagnoseAppEnv } from '../../contract/diagnosis.ts'
import type { OutputOf } from '../../contract/operation.ts'
import type { EnvironmentReader } from '../core/call.ts'

/** What serves, and the first finding, as notifications say it. */
export async function describeEnvironment(runner: EnvironmentReader, appEnvId: string) {
  const answer = await runner.readAsEnvironment(appEnvId, diagnoseAppEnv)
  const { servingVersion, findings } = answer as OutputOf<typeof diagnoseAppEnv>
  return { servingVersion, diagnosis: findings[0] ?? null }
}
