import type { LogLine } from '../../contract/app-env-reads.ts'
import { diagnosedFacts } from '../../contract/diagnosis.ts'
import { isRestricted } from '../../domain/access/environment-access.ts'
import { isRegularApp } from '../../domain/apps/presets.ts'
import { type DeploymentFacts, type Facts, kindOf } from '../../domain/diagnosis/facts.ts'
import { runtimeSign } from '../../domain/diagnosis/log-signs.ts'
import type { PodRecord, Rollout } from '../../domain/environments/environment.ts'
import type { LogQuery } from '../../domain/environments/log-query.ts'
import type { Mask } from '../../domain/environments/secret-masker.ts'
import { effectiveFunctionConfig } from '../../domain/functions/config.ts'
import { AppError } from '../../errors.ts'
import type { Db } from '../../store/db.ts'
import { listActivities } from '../../store/repositories/activities.ts'
import { accountSize } from '../../store/repositories/environments.ts'
import { findContent, findRollout, listPods } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Context, Sources } from '../core/handler.ts'
import { pendingOf } from '../environments/responses.ts'
import { loadAlertFacts } from './alert-facts.ts'
import { loadDatabaseFacts, loadReferredDatabases } from './database-facts.ts'
import { evidenceMask } from './evidence-mask.ts'
import { jobLogQuery, loadJobRuns } from './job-facts.ts'
import { loadMetricFacts } from './metric-facts.ts'

type Checked = (typeof diagnosedFacts)[number]
type Activities = Awaited<ReturnType<typeof listActivities>>['activities']

const podsRead = 50
const activitiesRead = 50
const linesRead = 60
const recentLogMs = 10 * 60_000

interface LoadedFacts {
  facts: Facts
  /** What could be read. */
  checked: Checked[]
}

type ReadFacts = (sources: Sources & { read: Db['read'] }) => Promise<LoadedFacts>

/** Reads the rows; the result reads logs and metrics, for after the transaction. */
export async function loadFacts(context: Context, target: EnvironmentTarget): Promise<ReadFacts> {
  const { appEnvId, applied, saved } = target.environment
  const { rollouts, ...history } = await loadHistory(context, target)
  const settings = [saved, applied, ...rollouts.map((rollout) => rollout.settings)]
  const failed = rollouts.find(({ status }) => status === 'FAILED')
  const { envVars } = failed?.settings ?? applied
  const variables = { applied: envVars.map(({ name }) => name), saved: saved.envVars.map(({ name }) => name) }
  const jobRuns = target.app.isJob ? await loadJobRuns(context, appEnvId) : []
  const rows = {
    ...environmentFacts(target),
    ...(await settingsFacts(context, target)),
    ...history,
    nowMs: Date.parse(context.now),
    variables,
    jobRuns,
    engineProblem: context.installation.engineProblem(target.environment.region),
  }
  const jobLog = await jobLogQuery(context, appEnvId, jobRuns)
  const referred = await loadReferredDatabases(context, target, envVars)
  return async ({ logs: reader, metrics: values, read }) => {
    const mask = evidenceMask(context, target.environment, settings)
    const logs = await readOrNull(() => loadLogs(reader, context, appEnvId, history, jobLog))
    const masked = (line: LogLine) => ({ ...line, message: mask(line.message) })
    const runtimeLog = logs?.runtimeLog.map(masked) ?? []
    const isRefused = runtimeSign(runtimeLog, variables.applied)?.cause === 'dependency-refused'
    const metrics = await readOrNull(() => loadMetricFacts(context, values, target))
    const unread = [logs ? null : 'logs', metrics ? null : 'metrics', target.membership ? null : 'alerts']
    return {
      facts: {
        ...rows,
        latest: rows.latest && maskedFailure(rows.latest, mask),
        current: rows.current && maskedFailure(rows.current, mask),
        buildLog: logs?.buildLog.map(masked) ?? [],
        runtimeLog,
        metrics,
        databases: isRefused
          ? await read((tx) => loadDatabaseFacts({ ...context, tx }, target, envVars, runtimeLog))
          : referred,
      },
      checked: diagnosedFacts.filter((fact) => !unread.includes(fact)),
    }
  }
}

function environmentFacts({ environment, app, account }: EnvironmentTarget) {
  const { appEnvId, status, desiredState, applied, autoscaling } = environment
  return {
    appEnvId,
    kind: kindOf(app),
    port: app.port,
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
  const pending = await pendingOf(context, environment)
  return {
    pendingFields: pending.deployPendingChanges.map(({ field }) => field),
    pendingSince: environment.updatedAt,
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

/** Deployments and containers, `rollouts` the newest deployment first. */
async function loadHistory(context: Context, { environment }: EnvironmentTarget) {
  const { tx } = context
  const { appEnvId, latestRolloutId, currentRolloutId } = environment
  const page = { limit: activitiesRead, offset: 0, from: null, to: null }
  const { activities } = await listActivities(tx, appEnvId, page)
  const pods = await listPods(tx, appEnvId, podsRead)
  const latestRollout = await rolloutOf(context, latestRolloutId)
  const currentRollout = await rolloutOf(context, currentRolloutId)
  const latest = latestRollout && (await deploymentFacts(context, latestRollout, activities))
  const current = currentRollout && (await deploymentFacts(context, currentRollout, activities))
  return {
    pods,
    latest,
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

async function loadLogs(
  logs: Sources['logs'],
  { now }: Context,
  appEnvId: string,
  { latest, current }: Pick<Facts, 'latest' | 'current'>,
  jobLog: LogQuery | null,
): Promise<{ buildLog: LogLine[]; runtimeLog: LogLine[] }> {
  const ofJob = jobLog ? (await logs.read(appEnvId, jobLog)).logs : []
  const failed = latest?.status === 'FAILED' ? latest : null
  const contentId = (failed ?? current ?? latest)?.contentId
  if (contentId === undefined) return { buildLog: [], runtimeLog: ofJob }
  const recent = new Date(Date.parse(now) - recentLogMs).toISOString()
  const query = { contentId, size: linesRead }
  const runtime = await logs.read(appEnvId, { ...query, type: 'RUNTIME', from: failed?.createdAt ?? recent })
  const runtimeLog = [...runtime.logs, ...ofJob]
  if (!failed) return { buildLog: [], runtimeLog }
  const build = await logs.read(appEnvId, { ...query, type: 'BUILD', from: failed.createdAt })
  return { buildLog: build.logs, runtimeLog }
}

function maskedFailure(deployment: DeploymentFacts, mask: Mask): DeploymentFacts {
  const { failure } = deployment
  return { ...deployment, failure: failure && { ...failure, message: mask(failure.message) } }
}

/** Null for what cannot be read now: the answer then does not count it as checked. */
async function readOrNull<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}
