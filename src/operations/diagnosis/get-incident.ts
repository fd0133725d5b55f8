import { listStateChanges } from '../../alerting/state-history.ts'
import { findAlertStates } from '../../alerting/states.ts'
import { timestamp } from '../../clock.ts'
import type { LogLine } from '../../contract/app-env-reads.ts'
import { getIncident } from '../../contract/incidents.ts'
import { isIngressMetric, type Metric, metricUnits } from '../../contract/metrics.ts'
import type { OutputOf } from '../../contract/operation.ts'
import { rankChanges, watchedMetrics } from '../../domain/diagnosis/changes.ts'
import { diagnose } from '../../domain/diagnosis/diagnose.ts'
import { AppError } from '../../errors.ts'
import { listAlertsOfEnvironment } from '../../store/repositories/alerts.ts'
import { listRuns } from '../../store/repositories/remediation-runs.ts'
import listAudit from '../audit/list-audit.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type AfterRead, type Context, handler, type Sources } from '../core/handler.ts'
import { runResponse } from '../remediation/responses.ts'
import { type Episode, listEpisodes } from './episodes.ts'
import { loadFacts } from './load-facts.ts'
import { alertBreak, readChanges, withNames } from './read-changes.ts'

type Incident = OutputOf<typeof getIncident>
interface Range {
  from: string
  to: string
}

const minuteMs = 60_000
const before = { parts: 30 * minuteMs, logs: 5 * minuteMs }
const after = { parts: 15 * minuteMs, logs: 10 * minuteMs }
/** An episode may last for weeks; what explains it is at its beginning. */
const longestMs = 24 * 60 * minuteMs
const most = { changes: 100, runs: 50, audit: 50, logs: 200, points: 120 }

/** One episode of an environment in one answer. */
export default handler(getIncident, async (context, input, target) => {
  const { tx, now } = context
  const { appEnvId, cliEnvName: envName } = target.environment
  const { episodeId, name, startedAt, endedAt } = await chosen(context, target, input.episodeId)
  const range = rangeOf({ startedAt, endedAt }, now)
  const changes = await withNames(context, target, await readChanges(context, target, range))
  const broke = await alertBreak(context, target, range)
  const alerts = await alertsOf(context, appEnvId, range)
  const page = { limit: most.runs, offset: 0 }
  const { runs } = await listRuns(tx, { appEnvId, ...range }, page)
  const readFacts = await loadFacts(context, target)
  const read = {
    ...{ appEnvId, envName, episodeId, name, startedAt, endedAt, ...range },
    timeline: rankChanges(changes, broke).slice(0, most.changes),
    alerts,
    runs: runs.map(runResponse),
    audit: await auditOf(context, target, range),
    createdAt: now,
  }
  const unread = { servingVersion: null, findings: [], checked: [], metrics: [], logs: [] }
  return {
    answer: { ...read, ...unread },
    afterRead: async (_answer: unknown, sources: AfterRead) => {
      const { facts, checked } = await readFacts(sources)
      return {
        ...read,
        ...{ servingVersion: facts.serving?.version ?? null, findings: diagnose(facts), checked },
        metrics: await metricsOf(sources, target, alerts, range),
        logs: await logsOf(sources, appEnvId, startedAt, range.to),
      }
    },
  }
})

async function chosen(
  { tx, now }: Context,
  { environment }: EnvironmentTarget,
  episodeId: string | undefined,
): Promise<Omit<Episode, 'episodeId'> & { episodeId: string | null }> {
  const episodes = await listEpisodes(tx, environment.appEnvId, now)
  if (episodeId !== undefined) {
    const found = episodes.find((one) => one.episodeId === episodeId)
    if (found) return found
    throw new AppError('not-found', 'Episode not found', {
      details: 'The newest episode of each alert is kept, and those with a remediation run.',
    })
  }
  const startedAt = timestamp(Date.parse(now) - before.parts)
  return episodes[0] ?? { episodeId: null, name: 'No alert fired', startedAt, endedAt: null }
}

function rangeOf({ startedAt, endedAt }: Pick<Episode, 'startedAt' | 'endedAt'>, now: string): Range {
  const startMs = Date.parse(startedAt)
  const endMs = endedAt === null ? Date.parse(now) : Date.parse(endedAt) + after.parts
  const to = Math.min(endMs, Date.parse(now), startMs + longestMs)
  return { from: timestamp(startMs - before.parts), to: timestamp(to) }
}

async function alertsOf({ tx }: Context, appEnvId: string, { from, to }: Range): Promise<Incident['alerts']> {
  const alerts = await listAlertsOfEnvironment(tx, appEnvId)
  const ids = alerts.map(({ alertId }) => alertId)
  const states = await findAlertStates(tx, ids)
  const shown: Incident['alerts'] = []
  for (const { alertId, name, metric, operator, threshold, duration, enabled } of alerts) {
    const changes = (await listStateChanges(tx, alertId)).filter(({ at }) => at >= from && at <= to)
    const state = states.get(alertId)?.progress.state ?? 'Normal'
    shown.push({ alertId, name, metric, operator, threshold, duration, enabled, state, changes })
  }
  return shown
}

/** As list-audit shows them, to those who may call it. */
async function auditOf(
  context: Context,
  target: EnvironmentTarget,
  { from, to }: Range,
): Promise<Incident['audit']> {
  if (!target.membership?.admin) return []
  const { accountId } = target.account
  const input = { accountId, objectId: target.environment.appEnvId, limit: most.audit }
  const { answer } = await listAudit.run(context, input, { ...target })
  const { entries } = answer as { entries: Incident['audit'] }
  return entries.filter((entry) => entry.timestamp >= from && entry.timestamp <= to)
}

/** Those that alerts watch, and those that show how an environment serves. */
async function metricsOf(
  { metrics }: Pick<Sources, 'metrics'>,
  { environment, app }: EnvironmentTarget,
  alerts: Incident['alerts'],
  range: Range,
): Promise<Incident['metrics']> {
  const usual: Metric[] = ['ingress_request_rate', ...watchedMetrics.map(({ metric }) => metric)]
  const wanted = new Set([...alerts.map(({ metric }) => metric), ...usual])
  const [fromMs, toMs] = [Date.parse(range.from), Date.parse(range.to)]
  const stepMs = Math.max(1, Math.ceil((toMs - fromMs) / most.points / metrics.periodMs)) * metrics.periodMs
  const pictures: Incident['metrics'] = []
  for (const metric of wanted) {
    const isCollected = isIngressMetric(metric) ? !app.isDatabase && !app.isJob : !app.isFunction
    if (!isCollected) continue
    const series = await metrics.series({ appEnvId: environment.appEnvId, metric, fromMs, toMs, stepMs })
    if (series.length === 0) continue
    const threshold = alerts.find((alert) => alert.metric === metric)?.threshold ?? null
    const points = series.map(({ t, value }): [number, number] => [t, Number(value.toPrecision(6))])
    pictures.push({ metric, unit: metricUnits[metric], threshold, points })
  }
  return pictures
}

/** What its program printed when it began. */
async function logsOf(
  { logs }: Pick<Sources, 'logs'>,
  appEnvId: string,
  startedAt: string,
  end: string,
): Promise<LogLine[]> {
  const startMs = Date.parse(startedAt)
  const from = timestamp(startMs - before.logs)
  const to = timestamp(Math.min(Date.parse(end), startMs + after.logs))
  return (await logs.read(appEnvId, { type: 'RUNTIME', size: most.logs, from, to })).logs
}
