import type { Finding } from '../../../contract/diagnosis.ts'
import { diagnoseAppEnv } from '../../../contract/diagnosis.ts'
import { isIngressMetric, type Metric, metricUnits } from '../../../contract/metrics.ts'
import type { OutputOf } from '../../../contract/operation.ts'
import type { RemediationRun } from '../../../contract/remediations.ts'
import { type StoredAlert, spanMs } from '../../../domain/alerts/alert.ts'
import { queryRangeMs } from '../../../domain/alerts/reading.ts'
import type { StoredRemediation, StoredRun } from '../../../domain/remediation/remediation.ts'
import { AppError } from '../../../errors.ts'
import type { MetricValues } from '../../../metrics/source.ts'
import type { RemediationReader } from '../../core/call.ts'

export type Diagnosis = OutputOf<typeof diagnoseAppEnv>

/** What was measured before the transaction that advances a run: logs and metrics are slow to read. */
export interface Seen {
  /** Times of the values of the trigger's metric. */
  samples: readonly number[]
  /** The newest of them is older than the metric can be late: it stopped. */
  isSilent: boolean
  /** Null if it was not needed, or could not be read. */
  findings: readonly Finding[] | null
  /** Whether diagnosis calls the environment healthy; null if the run does not ask for that. */
  healthy: boolean | null
  picture: RemediationRun['picture']
}

/** So many values may be late or lost before a metric counts as stopped. */
const silentPeriods = 6

interface SeenDeps {
  reader: RemediationReader
  metrics: MetricValues
  clockScale: number
}

export async function readDiagnosis(
  { reader }: Pick<SeenDeps, 'reader'>,
  { appEnvId, actsFor }: Pick<StoredRemediation, 'appEnvId' | 'actsFor'>,
): Promise<Diagnosis | null> {
  try {
    return (await reader.readForRemediation(actsFor, appEnvId, diagnoseAppEnv)) as Diagnosis
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** Everything that a run needs to see now. */
export async function seenOf(
  deps: SeenDeps,
  run: StoredRun,
  { remediation, alert }: { remediation: StoredRemediation; alert: StoredAlert | null },
  nowMs: number,
): Promise<Seen> {
  const { steps, verify } = remediation
  const wantsHealth = run.verifyFrom !== null && 'healthyWithinSeconds' in verify
  const wantsFix = run.verifyFrom === null && steps.some(({ action }) => action === 'apply-fix')
  const diagnosis = wantsHealth || wantsFix ? await readDiagnosis(deps, remediation) : null
  const samples = alert ? await samplesOf(deps, run, alert, nowMs) : []
  return {
    samples,
    isSilent: nowMs - (samples.at(-1) ?? Number.NEGATIVE_INFINITY) > silentPeriods * deps.metrics.periodMs,
    findings: diagnosis?.findings ?? null,
    healthy: wantsHealth && alert ? isHealthyApart(diagnosis) : null,
    picture: await pictureOf(deps, run, alert, nowMs),
  }
}

/** The alert itself is judged by its own state. */
function isHealthyApart(diagnosis: Diagnosis | null): boolean {
  const apart = diagnosis?.findings.every(
    ({ severity, cause }) => severity === 'info' || cause === 'alert-firing',
  )
  return apart ?? false
}

async function samplesOf(
  { metrics, clockScale }: SeenDeps,
  run: StoredRun,
  alert: StoredAlert,
  nowMs: number,
): Promise<number[]> {
  const rangeMs = queryRangeMs(alert, { clockScale, periodMs: metrics.periodMs })
  const fromMs = run.verifyFrom === null ? nowMs - rangeMs : Date.parse(run.verifyFrom)
  if (fromMs >= nowMs) return []
  const times = await timesOf(metrics, alert.metric, { appEnvId: run.appEnvId, fromMs, toMs: nowMs })
  if (!needsTraffic(alert.metric)) return times
  // A share of no requests is 0, which is missing data.
  const rates = await seriesOf(metrics, 'ingress_request_rate', {
    appEnvId: run.appEnvId,
    fromMs,
    toMs: nowMs,
  })
  const busy = new Set(rates.filter(({ value }) => value > 0).map(({ t }) => t))
  return times.filter((t) => busy.has(t))
}

/** Everything that is counted for each request, but the number of requests itself. */
function needsTraffic(metric: Metric): boolean {
  return isIngressMetric(metric) && metric !== 'ingress_request_rate'
}

interface Range {
  appEnvId: string
  fromMs: number
  toMs: number
}

async function timesOf(metrics: MetricValues, metric: Metric, range: Range): Promise<number[]> {
  return (await seriesOf(metrics, metric, range)).map(({ t }) => t)
}

/** Empty if the source cannot be read: missing data neither triggers nor verifies. */
async function seriesOf(metrics: MetricValues, metric: Metric, range: Range, stepMs = metrics.periodMs) {
  try {
    return await metrics.series({ ...range, metric, stepMs })
  } catch (error) {
    if (error instanceof AppError) return []
    throw error
  }
}

const picturePoints = 60
const pictureMs = 30 * 60_000

/** The metric before and after the steps; null for a cause, which has none. */
async function pictureOf(
  { metrics, clockScale }: SeenDeps,
  { appEnvId, verifyFrom, startedAt }: StoredRun,
  alert: StoredAlert | null,
  nowMs: number,
): Promise<RemediationRun['picture']> {
  if (!alert) return null
  const { metric, threshold } = alert
  const middleMs = verifyFrom === null ? nowMs : Date.parse(verifyFrom)
  const spanBackMs = Math.max(pictureMs, spanMs(alert.queryRange)) / clockScale
  const stepFor = (ms: number) => Math.max(metrics.periodMs, Math.ceil(ms / picturePoints / 1000) * 1000)
  const read = async (fromMs: number, toMs: number) => {
    if (toMs <= fromMs) return []
    const points = await seriesOf(metrics, metric, { appEnvId, fromMs, toMs }, stepFor(toMs - fromMs))
    return points.map(({ t, value }): [number, number] => [t, Number(value.toPrecision(6))])
  }
  return {
    ...{ metric, unit: metricUnits[metric], threshold },
    before: await read(Math.min(Date.parse(startedAt), middleMs) - spanBackMs, middleMs),
    after: verifyFrom === null ? [] : await read(middleMs, nowMs),
  }
}
