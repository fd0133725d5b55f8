import type { getAppEnvStatus } from '../contract/app-env-reads.ts'
import type { AppEnv } from '../contract/app-envs.ts'
import type { OutputOf } from '../contract/operation.ts'
import { printable } from './progress.ts'
import { aligned, renderResult } from './render.ts'
import { inShellWords } from './row-names.ts'

type Status = OutputOf<typeof getAppEnvStatus>

/** The status for people: first whether it serves and what is wrong, then the facts. */
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
    ['newest deployment', currentDeployment ? deploymentText(currentDeployment) : 'none'],
    ...(failure
      ? [['failure', `${failure.reason}: ${inShellWords(printable(failure.message), cliEnvName)}`]]
      : []),
    [
      'pending changes',
      pending.length === 0
        ? 'none'
        : `${pending.join(', ')}; longshore envs apply ${cliEnvName} applies them`,
    ],
    ...hosts.map(({ url }) => ['address', printable(url)]),
    ['appEnvId', status.appEnvId],
  ]
  return [`${cliEnvName} is ${stateText(status)}`, ...aligned(facts)]
}

/** One environment: its settings, after a sentence about its status. */
export function envLines(appEnv: AppEnv): string[] {
  const { cliEnvName, status, currentVersion, containers, ...others } = appEnv
  // The number is for apps and databases; a function or job does not keep it.
  const scaled = appEnv.isFunction || appEnv.isJob ? {} : { containers }
  const text =
    status === 'STOPPED'
      ? stoppedText(cliEnvName, currentVersion)
      : `${status}. longshore status ${cliEnvName} shows its containers and its newest deployment.`
  return [
    `${cliEnvName} is ${text}`,
    ...renderResult({ cliEnvName, status, currentVersion, ...scaled, ...others }),
  ]
}

function stateText({
  cliEnvName,
  status,
  currentVersion,
  currentDeployment,
  containers,
  hosts,
}: Status): string {
  const failed =
    currentDeployment?.status === 'FAILED'
      ? ` The newest deployment, version ${currentDeployment.version}, FAILED. longshore why ${cliEnvName} names the cause.`
      : ''
  const newest = currentDeployment
    ? ` Version ${currentDeployment.version} is ${currentDeployment.status}.`
    : ''
  if (status === 'STOPPED') return `${stoppedText(cliEnvName, currentVersion)}${failed}`
  if (status === 'PENDING') return `PENDING: it does not serve yet.${newest}`
  const serving = servingText(cliEnvName, currentVersion, containers, hosts)
  return `${status}: ${serving}${failed || (status === 'UPDATING' ? newest : '')}`
}

function stoppedText(cliEnvName: string, version: number | null): string {
  return version === null
    ? 'STOPPED: no version has served yet.'
    : `STOPPED: it serves nothing until longshore envs start ${cliEnvName} starts version ${version} again.`
}

function servingText(
  cliEnvName: string,
  version: number | null,
  { desired, ready }: Status['containers'],
  hosts: Status['hosts'],
): string {
  if (ready > 0) return `version ${version} serves with ${ready} of ${desired} containers.`
  if (desired > 0) {
    return `none of ${desired} containers is ready; longshore why ${cliEnvName} names the cause.`
  }
  const isFunction = hosts.some(({ kind }) => kind === 'function')
  return isFunction
    ? `version ${version} is at zero: no container runs, and the next request starts one.`
    : `version ${version}; no container runs, and none is needed now.`
}

function deploymentText({
  version,
  status,
  createdAt,
  contentId,
}: NonNullable<Status['currentDeployment']>): string {
  return `version ${version} ${status}, of ${createdAt} (${contentId})`
}
