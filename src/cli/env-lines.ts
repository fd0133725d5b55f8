import type { getAppEnvStatus } from '../contract/app-env-reads.ts'
import type { AppEnv } from '../contract/app-envs.ts'
import type { Health } from '../contract/health.ts'
import { healthSentence } from '../contract/health-words.ts'
import type { OutputOf } from '../contract/operation.ts'
import { statusSentence, stoppedText } from '../contract/status-sentence.ts'
import { printable } from './progress.ts'
import { aligned, renderResult } from './render.ts'
import { failureText, inShellWords } from './rows/words.ts'

type Status = OutputOf<typeof getAppEnvStatus>

/** The status for people: first whether it serves, and the problem if not; then the facts. */
export function statusLines(status: Status): string[] {
  const { cliEnvName, currentDeployment, containers, pendingChanges, hosts } = status
  const failure = currentDeployment?.failure
  const pending = pendingChanges.deployPendingChanges.map(({ group, field }) => `${group} (${field})`)
  const facts = [
    ['status', status.status],
    [
      'version',
      status.currentVersion === null ? 'none' : `${status.currentVersion} (${status.currentContentId})`,
    ],
    ['containers', `${containers.ready} of ${containers.desired} ready, ${containers.running} running`],
    ...(status.health ? [['health', healthLine(status.health)]] : []),
    ['newest deployment', currentDeployment ? deploymentText(currentDeployment) : 'none'],
    ...(failure ? [['failure', failureText(failure, cliEnvName)]] : []),
    [
      'pending changes',
      pending.length === 0
        ? 'none'
        : `${pending.join(', ')}; longshore envs apply ${cliEnvName} applies them`,
    ],
    ...hosts.map(({ url }) => ['address', printable(url)]),
    ['appEnvId', status.appEnvId],
  ]
  return [inShellWords(statusSentence(status), cliEnvName), ...aligned(facts)]
}

/** One environment: its settings, after a sentence about its status. */
export function envLines(appEnv: AppEnv): string[] {
  const { cliEnvName, status, currentVersion, containers, ...others } = appEnv
  // The number is for apps and databases; a function or job does not keep it.
  const scaled = appEnv.isFunction || appEnv.isJob ? {} : { containers }
  const text =
    status === 'STOPPED'
      ? inShellWords(`STOPPED: ${stoppedText(currentVersion)}`, cliEnvName)
      : `${status}. longshore status ${cliEnvName} shows its containers and its newest deployment.`
  return [
    `${cliEnvName} is ${text}`,
    ...renderResult({ cliEnvName, status, currentVersion, ...scaled, ...others }),
  ]
}

function healthLine(health: Health): string {
  const checked = health.path === null ? 'Only the port is checked.' : `GET ${health.path} is checked.`
  return `${health.verdict}: ${healthSentence(health)} ${checked}`
}

function deploymentText({
  version,
  status,
  createdAt,
  contentId,
}: NonNullable<Status['currentDeployment']>): string {
  return `version ${version} ${status}, of ${createdAt} (${contentId})`
}
