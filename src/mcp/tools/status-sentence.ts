import type { getAppEnvStatus } from '../../contract/app-env-reads.ts'
import { healthSentence } from '../../contract/health-words.ts'
import type { OutputOf } from '../../contract/operation.ts'

/** The state of an environment in a sentence that also holds where the status alone misleads: STOPPED after a failure. */
export function statusSentence(status: OutputOf<typeof getAppEnvStatus>): string {
  const { cliEnvName, currentVersion, currentDeployment: deployment } = status
  const failure = deployment?.failure ?? null
  if (status.status === 'STOPPED' && currentVersion === null && failure !== null)
    return `${cliEnvName} serves nothing (STOPPED): version ${deployment?.version} failed (${failure.reason}), and no version was deployed before. diagnose-app-env says what to do.`
  if (status.status === 'STOPPED' && deployment === null)
    return `${cliEnvName} is STOPPED: nothing was deployed to it yet.`
  const version = currentVersion === null ? '' : ` at version ${currentVersion}`
  const failed =
    failure === null
      ? ''
      : ` Deployment of version ${deployment?.version} failed: ${failure.reason}. diagnose-app-env says what to do.`
  const health = status.health ? ` ${status.health.verdict}: ${healthSentence(status.health)}` : ''
  const isUnderWay = deployment?.status === 'BUILDING' || deployment?.status === 'DEPLOYING'
  const underWay = isUnderWay ? ` Version ${deployment.version} is ${deployment.status}.` : ''
  return `${cliEnvName} is ${status.status}${version}.${health}${underWay}${failed}`
}
