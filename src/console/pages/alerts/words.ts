import type { Alert, AlertState } from '../../../contract/alerts.ts'
import { isIngressMetric, type Metric, metrics, metricUnits } from '../../../contract/metrics.ts'
import type { Tone } from '../../components/Badge.tsx'
import { quantity } from '../../components/words.ts'
import { lowerFirst } from '../../words/text.ts'

export const stateNames: Record<AlertState, string> = {
  Firing: 'Firing',
  Error: 'Cannot be evaluated',
  NoData: 'No data',
  Pending: 'Pending',
  Normal: 'Normal',
}
export const stateTones: Record<AlertState, Tone> = {
  Firing: 'bad',
  Error: 'warn',
  NoData: 'warn',
  Pending: 'busy',
  Normal: 'ok',
}

export const metricNames: Record<Metric, string> = {
  cpu_percent: 'CPU of the limit',
  memory_percent: 'Memory of the limit',
  cpu_usage: 'CPU used',
  memory_usage: 'Memory used',
  cpu_percent_per_pod: 'CPU of the limit, per container',
  memory_percent_per_pod: 'Memory of the limit, per container',
  cpu_usage_per_pod: 'CPU used, per container',
  memory_usage_per_pod: 'Memory used, per container',
  ingress_request_rate: 'Requests',
  ingress_5xx_rate: '5xx errors',
  ingress_5xx_percent: '5xx errors, share of requests',
  ingress_4xx_rate: '4xx errors',
  ingress_4xx_percent: '4xx errors, share of requests',
  ingress_p95_latency: '95th percentile of latency',
  ingress_p99_latency: '99th percentile of latency',
  certificate_days_left: 'Days until a certificate ends',
}

export const aggregationNames: Record<Alert['aggregation'], string> = {
  mean: 'Mean',
  max: 'Maximum',
  min: 'Minimum',
  last: 'Last value',
}

/** Metrics of an environment: no CPU and memory for functions (F9), no traffic for databases and jobs. */
export function metricsOf(environment: {
  isFunction: boolean
  isDatabase: boolean
  isJob: boolean
}): Metric[] {
  const { isFunction, isDatabase, isJob } = environment
  return metrics.filter((metric) => (isIngressMetric(metric) ? !isDatabase && !isJob : !isFunction))
}

/** `5m` as "5 minutes". */
export function spanWords(span: string): string {
  const count = Number.parseInt(span, 10)
  const unit = span.endsWith('h') ? 'hour' : 'minute'
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

type Condition = Pick<Alert, 'metric' | 'operator' | 'threshold' | 'duration' | 'aggregation' | 'queryRange'>

/** "Mean of requests over 10 minutes above 80 req/s for 5 minutes". */
export function conditionWords(alert: Condition): string {
  const { metric, operator, threshold, duration, aggregation, queryRange } = alert
  const side = operator === 'gt' ? 'above' : 'below'
  const limit = quantity(threshold, metricUnits[metric])
  return `${aggregationNames[aggregation]} of ${lowerFirst(metricNames[metric])} over ${spanWords(queryRange)} stays ${side} ${limit} for ${spanWords(duration)}`
}

const urgency = Object.keys(stateNames)

/** Firing first, paused last, then by name. */
export function byUrgency<Row extends Pick<Alert, 'name' | 'enabled' | 'lastKnownState'>>(
  alerts: readonly Row[],
): Row[] {
  const rank = ({ enabled, lastKnownState }: Row) =>
    enabled ? urgency.indexOf(lastKnownState) : urgency.length
  return [...alerts].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
}

interface StateSpan {
  state: AlertState
  fromMs: number
  toMs: number
}

/** States between two times, from the changes that the platform keeps; before the first change its `from` applies. */
export function stateSpans(
  history: readonly { from: AlertState; to: AlertState; at: string }[],
  current: AlertState,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): StateSpan[] {
  const changes = [...history].sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
  const starts = [
    { state: changes[0]?.from ?? current, ms: Number.NEGATIVE_INFINITY },
    ...changes.map(({ to, at }) => ({ state: to, ms: Date.parse(at) })),
  ]
  return starts
    .map(({ state, ms }, index) => ({
      state,
      fromMs: Math.max(fromMs, ms),
      toMs: Math.min(toMs, starts[index + 1]?.ms ?? toMs),
    }))
    .filter((span) => span.toMs > span.fromMs)
}

/** Which notifications are shown: the newest of some alerts, or of all. */
export function newestWords(shown: number, read: number, all: number): string {
  const alerts = read < all ? `the ${read} most urgent alerts` : 'all alerts'
  return `The newest ${shown} of ${alerts} with a contact point`
}
