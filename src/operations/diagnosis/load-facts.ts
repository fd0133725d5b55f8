import type { LogLine } from '../../contract/app-env-reads.ts'
import { diagnosedFacts } from '../../contract/diagnosis.ts'
import { usersToInclude } from '../../contract/held-changes.ts'
import { isRestricted } from '../../domain/access/environment-access.ts'
import { usesGitHost } from '../../domain/apps/app.ts'
import { isRegularApp } from '../../domain/apps/presets.ts'
import { type DeploymentFacts, type Facts, kindOf } from '../../domain/diagnosis/facts.ts'
import { runtimeSign } from '../../domain/diagnosis/log-signs.ts'
import type { PodRecord, Rollout, Settings } from '../../domain/environments/environment.ts'
import type { LogQuery } from '../../domain/environments/log-query.ts'
import {
  pathName,
  pendingFields,
  pendingPaths,
  pendingVariables,
  refreshedVariables,
} from '../../domain/environments/pending-changes.ts'
import type { Mask } from '../../domain/environments/secret-masker.ts'
import { servesSince, servingOf } from '../../domain/environments/serving.ts'
import { effectiveFunctionConfig } from '../../domain/functions/config.ts'
import { recentTrafficMs } from '../../metrics/source.ts'
import { listActivities } from '../../store/repositories/activities.ts'
import { accountSize } from '../../store/repositories/environments.ts'
import { listAuthors } from '../../store/repositories/pending-authors.ts'
import { findContent, findRollout, listPods } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { AfterRead, Context } from '../core/handler.ts'
import { userIdOrNull } from '../core/user-of.ts'
import { appOfRollout, settingsInForce } from '../environments/responses.ts'
import { loadAlertFacts, loadFiring, withEnd } from './alert-facts.ts'
import { loadWaitingCopies } from './copy-facts.ts'
import { loadDatabaseFacts, loadReferredDatabases } from './database-facts.ts'
import { evidenceMask } from './evidence-mask.ts'
import { jobLogQuery, loadJobRuns } from './job-facts.ts'
import { loadLogs, loadMeanSeconds, loadRequests } from './log-facts.ts'
import { loadMetricFacts, loadTraffic } from './metric-facts.ts'
import { readOrNull } from './read-or-null.ts'

type Checked = (typeof diagnosedFacts)[number]
type Activities = Awaited<ReturnType<typeof listActivities>>['activities']

const podsRead = 50
const activitiesRead = 50

interface LoadedFacts {
  facts: Facts
  /** The facts that could be read. */
  checked: Checked[]
}

/** Reads the rows; the result reads the rest, after the transaction. */
export async function loadFacts(
  context: Context,
  target: EnvironmentTarget,
): Promise<(after: AfterRead) => Promise<LoadedFacts>> {
  const { appEnvId } = target.environment
  const { rollouts, ...history } = await loadHistory(context, target)
  const settings = rollouts.find(({ status }) => status === 'FAILED')?.settings ?? target.environment.applied
  const { envVars } = settings
  const jobRuns = target.app.isJob ? await loadJobRuns(context, appEnvId) : []
  const jobLog = await jobLogQuery(context, appEnvId, jobRuns)
  const firing = target.membership === null ? [] : await loadFiring(context, target)
  const referred = await loadReferredDatabases(context, target, envVars)
  const rows = {
    ...environmentFacts(target),
    port: (await appOfRollout(context, target.environment.latestRolloutId, target.app)).port,
    ...(await settingsFacts(context, target)),
    ...history,
    nowMs: Date.parse(context.now),
    variables: { applied: namesOf(envVars), saved: namesOf(target.environment.saved.envVars) },
    ...volumeFacts(context, target.environment.region, settings),
    jobRuns,
    waitingCopies: await loadWaitingCopies(context, appEnvId),
    engineProblem: context.installation.engineProblem(target.environment.region),
  }
  return async (after) => {
    const { saved, applied } = target.environment
    const known = [saved, applied, ...rollouts.map((one) => one.settings)]
    const mask = await evidenceMask(context, after, target.environment, known)
    const logs = await readOrNull(() => loadOutput(after, context, appEnvId, history, jobLog))
    await after.pause()
    const masked = (lines: readonly LogLine[] = []) =>
      lines.map((line) => ({ ...line, message: mask(line.message) }))
    const [failedLog, servingLog, crashLog] = [logs?.failedLog, logs?.servingLog, logs?.crashLog].map(masked)
    const output = [failedLog!, servingLog!, crashLog!]
    const isRefused = output.some(
      (lines) => runtimeSign(lines, rows.variables.applied, rows.volumePath)?.cause === 'dependency-refused',
    )
    const metrics = await readOrNull(() => loadMetricFacts(context, after.metrics, target))
    const unread = [logs ? null : 'logs', metrics ? null : 'metrics', target.membership ? null : 'alerts']
    return {
      facts: {
        ...rows,
        ...(await requestFacts(context, after, target, history.serving, mask)),
        latest: history.latest && maskedFailure(history.latest, mask),
        current: history.current && maskedFailure(history.current, mask),
        buildLog: masked(logs?.buildLog),
        failedLog: failedLog!,
        servingLog: servingLog!,
        crashLog: crashLog!,
        metrics,
        firing: await withEnd(context, after.metrics, firing, mask),
        databases: isRefused
          ? await after.read((tx) => loadDatabaseFacts({ ...context, tx }, target, envVars, output.flat()))
          : referred,
      },
      checked: diagnosedFacts.filter((fact) => !unread.includes(fact)),
    }
  }
}

/** On other engines than the process engine, the volume is at its mount path. */
function volumeFacts(
  { installation }: Context,
  region: string,
  { useVolume, mountPath: path }: Pick<Settings, 'useVolume' | 'mountPath'>,
): Pick<Facts, 'volumePath' | 'mountPath'> {
  const { engine } = installation.regions().find((one) => one.region === region) ?? {}
  const mountPath = useVolume ? path : null
  return { mountPath, volumePath: engine === 'process' ? mountPath : null }
}

function namesOf(variables: readonly { name: string }[]): string[] {
  return variables.map(({ name }) => name)
}

/** The output of a job is that of its newest run. */
async function loadOutput(
  { logs }: AfterRead,
  context: Context,
  appEnvId: string,
  history: Parameters<typeof loadLogs>[3],
  jobLog: LogQuery | null,
) {
  const found = await loadLogs(logs, context, appEnvId, history)
  return jobLog ? { ...found, servingLog: (await logs.read(appEnvId, jobLog)).logs } : found
}

/** Requests of the last minute to the serving version. */
async function requestFacts(
  context: Context,
  { logs, metrics }: AfterRead,
  { environment, app }: EnvironmentTarget,
  serving: DeploymentFacts | null,
  mask: Mask,
): Promise<Pick<Facts, 'traffic' | 'recentTraffic' | 'requests' | 'meanSeconds'>> {
  if (!serving || app.isDatabase || app.isJob) return { traffic: null, requests: [], meanSeconds: null }
  const { appEnvId } = environment
  const sinceMs = Date.parse(serving.servesSince)
  const { traffic, recentTraffic } = await loadTraffic(context, metrics, appEnvId, sinceMs)
  const nowMs = Date.parse(context.now)
  const fromMs = Math.max(sinceMs, nowMs - recentTrafficMs)
  const fails = traffic.failed + traffic.unanswered > 0
  const requests = fails ? await readOrNull(() => loadRequests(logs, appEnvId, fromMs, mask)) : null
  const meanSeconds =
    app.isFunction && traffic.requests > 0
      ? await readOrNull(() =>
          loadMeanSeconds(logs, appEnvId, recentTraffic ? nowMs - recentTraffic.seconds * 1_000 : fromMs),
        )
      : null
  return { traffic, recentTraffic, requests: requests ?? [], meanSeconds }
}

function environmentFacts({ environment, app, account }: EnvironmentTarget) {
  const { appEnvId, status, desiredState, applied, autoscaling } = environment
  return {
    appEnvId,
    kind: kindOf(app),
    usesGit: usesGitHost(app),
    takesImagesOnly: app.useImage,
    status,
    desiredState,
    zClouds: applied.zClouds,
    containers: applied.containers,
    autoscaling: isRegularApp(app.dockerPreset) ? autoscaling : null,
    functionConfig: app.isFunction ? effectiveFunctionConfig(applied.functionConfig, account.settings) : null,
  }
}

async function settingsFacts(context: Context, target: EnvironmentTarget) {
  const { environment, account, membership } = target
  const { accountId, settings } = account
  const inForce = await settingsInForce(context, environment)
  const refreshed = refreshedVariables(environment.saved, inForce)
  return {
    pendingFields: pendingFields(environment.saved, inForce),
    pendingSince: environment.updatedAt,
    pendingVariables: pendingVariables(environment.saved, inForce),
    ...(await foreignPending(context, environment, inForce, refreshed)),
    refreshed,
    // As list-alerts: not for the token of an environment.
    alerts: membership === null ? [] : await loadAlertFacts(context, target),
    quota: {
      zCloudLimit: settings.zCloudLimit,
      zCloudsUsed: await accountSize(context.tx, accountId, null),
      showsUsed: membership !== null && !isRestricted(account, membership),
      functionMaxScale: settings.functionMaxScale,
    },
  }
}

/** Pending changes that the caller did not save. A source that changed does not count as a change of this environment. */
async function foreignPending(
  { tx, caller }: Context,
  { appEnvId, saved }: EnvironmentTarget['environment'],
  inForce: Settings,
  refreshed: readonly string[],
): Promise<Pick<Facts, 'foreignPending' | 'includeChangesOf'>> {
  const authors = await listAuthors(tx, appEnvId)
  // What its user left pending is not the remediation's own.
  const own = caller.actor === 'remediation' ? null : userIdOrNull(caller)
  const foreign = pendingPaths(saved, inForce)
    .filter((path) => !refreshed.includes(pathName(path)))
    .map((path) => ({ path, by: authors.get(path)?.by ?? null }))
    .filter(({ by }) => own === null || by !== own)
  const names = caller.actor === 'agent' && foreign.length > 0
  return {
    foreignPending: foreign.map(({ path }) => pathName(path)),
    ...(names && { includeChangesOf: usersToInclude(foreign) }),
  }
}

/** Deployments and containers, `rollouts` the newest deployment first. */
async function loadHistory(context: Context, { environment }: EnvironmentTarget) {
  const { tx } = context
  const { appEnvId, latestRolloutId, currentRolloutId } = environment
  const page = { limit: activitiesRead, offset: 0, from: null, to: null }
  const { activities } = await listActivities(tx, appEnvId, page)
  const pods = await listPods(tx, appEnvId, podsRead)
  const latestRollout = await rolloutOf(context, latestRolloutId)
  const currentRollout = await rolloutOf(context, currentRolloutId)
  const wantedRollout = await rolloutOf(context, environment.wantedRolloutId)
  const servingRollout =
    environment.desiredState === 'running' ? servingOf(environment, currentRollout, wantedRollout) : null
  const facts = (rollout: Rollout | null) => rollout && deploymentFacts(context, rollout, activities)
  const current = await facts(currentRollout)
  return {
    pods,
    latest: await facts(latestRollout),
    serving: await facts(servingRollout),
    current,
    previous: current && previousOf(current, activities, pods),
    stoppedAt: activities.find(({ activity }) => activity === 'STOP')?.timestamp ?? null,
    rollouts: [latestRollout, currentRollout].filter((rollout) => rollout !== null),
  }
}

async function rolloutOf({ tx }: Context, rolloutId: string | null): Promise<Rollout | null> {
  return rolloutId === null ? null : await findRollout(tx, rolloutId)
}

async function deploymentFacts(
  { tx }: Context,
  rollout: Rollout,
  activities: Activities,
): Promise<DeploymentFacts | null> {
  const content = await findContent(tx, rollout.contentId)
  if (!content) return null
  const { rolloutId, contentId, version, status, createdAt, deployedAt, failure, region } = rollout
  const failed = activities.find((one) => one.status === 'FAILED' && one.version === version)
  return {
    rolloutId,
    contentId,
    version,
    status,
    type: content.type,
    containerImage: content.containerImage,
    createdAt,
    deployedAt,
    failure,
    failedAt: failed && failed.timestamp >= createdAt ? failed.timestamp : null,
    isBuilt: region in content.images,
    servesSince: servesSince(rollout),
  }
}

function previousOf(
  current: DeploymentFacts,
  activities: Activities,
  pods: readonly PodRecord[],
): Facts['previous'] {
  const before = activities.find(
    ({ status, version, timestamp }) =>
      status === 'DEPLOYED' && version !== current.version && timestamp <= (current.deployedAt ?? timestamp),
  )
  if (!before || before.version === null) return null
  const its = pods.filter(({ contentId }) => contentId === before.contentId)
  const ranWell = its.length > 0 && its.every((pod) => pod.restartCount === 0 && pod.status !== 'Failed')
  return { version: before.version, ranWell }
}

function maskedFailure(deployment: DeploymentFacts, mask: Mask): DeploymentFacts {
  const { failure } = deployment
  return { ...deployment, failure: failure && { ...failure, message: mask(failure.message) } }
}
