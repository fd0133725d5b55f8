import type { getAppEnvStatus } from './app-env-reads.ts'
import { failureWords } from './failure-words.ts'
import { healthSentence, isIll, requestSentence, servesUnproven } from './health-words.ts'
import type { OutputOf } from './operation.ts'

type Status = OutputOf<typeof getAppEnvStatus>

/**
 * The state of an environment in the same words on every surface, also where the status alone misleads: STOPPED after
 * a failure. It names operations; the command line writes them as its commands.
 */
export function statusSentence(status: Status): string {
  const { cliEnvName, currentDeployment: newest, health } = status
  const isUnderWay = newest?.status === 'BUILDING' || newest?.status === 'DEPLOYING'
  const underWay = isUnderWay ? ` Version ${newest.version} is ${newest.status}.` : ''
  const reason = newest?.failure ? ` (${failureWords(newest.failure).reason})` : ''
  const failed =
    newest?.status === 'FAILED'
      ? ` The newest deployment, version ${newest.version}, FAILED${reason}: diagnose-app-env says what to do.`
      : ''
  const ill = health && isIll(health) ? ` ${health.verdict}: ${healthSentence(health)}` : ''
  const requests = health && requestSentence(health)
  const wrong = requests ? ` ${requests} diagnose-app-env names the cause.` : ''
  return `${cliEnvName} is ${status.status}: ${servingText(status)}${ill}${wrong}${underWay}${failed}`
}

function servingText(environment: Status): string {
  const {
    status,
    currentVersion: version,
    currentDeployment: newest,
    containers,
    hosts,
    volumeMove,
  } = environment
  if (status === 'STOPPED') return stoppedText(version)
  if (status === 'PENDING') {
    return servesUnproven(environment)
      ? 'it serves, and is in its stability window.'
      : 'it does not serve yet.'
  }
  const { desired, ready } = containers
  if (ready === 0 && volumeMove && volumeMove.step !== 'prepare')
    return `it serves nothing while its volume is copied to ${volumeMove.region}, where it then starts.`
  // The count includes containers of the version that is in its window and takes no requests yet.
  if (ready > 0 && newest?.status === 'DEPLOYING' && newest.version !== version)
    return `version ${version} serves; ready containers of both versions: ${ready}.`
  if (ready > desired)
    return `version ${version} serves; containers are being replaced or removed, and ${ready} are ready.`
  if (ready > 0) return `version ${version} serves with ${ready} of ${desired} containers.`
  if (desired > 0) return `none of ${desired} containers is ready; diagnose-app-env names the cause.`
  return hosts.some(({ kind }) => kind === 'function')
    ? `version ${version} is at zero: no container runs, and the next request starts one.`
    : `version ${version}; no container runs, and none is needed now.`
}

export function stoppedText(version: number | null): string {
  return version === null
    ? 'no version has served yet.'
    : `it serves nothing until start-app-env starts version ${version} again.`
}
