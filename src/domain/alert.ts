import type { Alert } from '../contract/alerts.ts'
import { isIngressMetric, type Metric, metricUnits } from '../contract/metrics.ts'
import { AppError } from '../errors.ts'

/** What an alert is, without what the evaluator found out about it (alert-state.ts). */
export type StoredAlert = Omit<Alert, 'contactPoints' | 'lastKnownState' | 'lastStateCheck'>

const minuteMs = 60_000
const spans: Readonly<Record<Alert['duration'] | Alert['queryRange'], number>> = {
  '1m': minuteMs,
  '5m': 5 * minuteMs,
  '10m': 10 * minuteMs,
  '15m': 15 * minuteMs,
  '30m': 30 * minuteMs,
  '1h': 60 * minuteMs,
  '2h': 120 * minuteMs,
}

/** Milliseconds of a duration or query range, before the clock scale. */
export function spanMs(span: Alert['duration'] | Alert['queryRange']): number {
  return spans[span]
}

export function isMet(rule: Pick<Alert, 'operator' | 'threshold'>, value: number): boolean {
  return rule.operator === 'gt' ? value > rule.threshold : value < rule.threshold
}

/** Which metrics an environment has: F9 for functions, 2.7 for databases. */
export function checkMetric(metric: Metric, app: { isFunction: boolean; isDatabase: boolean }): void {
  if (app.isFunction && !isIngressMetric(metric)) {
    throw new AppError('invalid', `${metric} is not collected for functions`, {
      details:
        'CPU and memory are not measured for functions. Use an ingress metric, such as ingress_p95_latency, ingress_5xx_percent or ingress_request_rate.',
      rule: 'F9',
    })
  }
  if (app.isDatabase && isIngressMetric(metric)) {
    throw new AppError('invalid', `${metric} is not available for database environments`, {
      details: 'Databases are not behind the ingress. Use a CPU or memory metric, such as cpu_percent.',
    })
  }
}

/** Says where a threshold looks like another unit than the metric's, or can never be crossed. */
export function thresholdWarnings(
  rule: Pick<Alert, 'metric' | 'operator' | 'threshold'>,
  size?: { cpuMillicores: number; memoryMb: number },
): string[] {
  const { metric, operator, threshold } = rule
  const unit = metricUnits[metric]
  const said = `${threshold} on ${metric} is ${amount(threshold, unit)}`
  if (threshold < 0 || (threshold === 0 && operator === 'lt')) {
    return [
      operator === 'lt'
        ? `${said}: values are never below it, so this never fires.`
        : `${said}: every value is above it, so this always fires.`,
    ]
  }
  if (unit === '%' && threshold >= 100 && operator === 'gt' && (threshold > 100 || isIngressMetric(metric))) {
    return [`${said}: a share is never above 100 %, so this never fires.`]
  }
  if (unit === '%' && threshold > 0 && threshold < 1) {
    return [`${said}, not ${round(threshold * 100)} %.`]
  }
  if (unit === 'millicores' && threshold > 0 && threshold <= 100) {
    return [`${said}, ${round(threshold / 1000)} of a core. For a share of the limit use cpu_percent.`]
  }
  if (unit === 'MB' && threshold > 0 && threshold <= 100) {
    return [`${said}. For a share of the limit use memory_percent.`]
  }
  if (unit === 's' && threshold >= 60) {
    return [`${said}. If milliseconds were meant, send ${round(threshold / 1000)}.`]
  }
  return size ? aboveLimit(rule, said, size) : []
}

function aboveLimit(
  { metric, operator, threshold }: Pick<Alert, 'metric' | 'operator' | 'threshold'>,
  said: string,
  size: { cpuMillicores: number; memoryMb: number },
): string[] {
  const limit = metric.startsWith('cpu_usage')
    ? size.cpuMillicores
    : metric.startsWith('memory_usage')
      ? size.memoryMb
      : Number.POSITIVE_INFINITY
  if (operator !== 'gt' || threshold < limit) return []
  return [`${said}, and the environment's limit is ${limit}: this never fires.`]
}

function amount(value: number, unit: string): string {
  return unit === 's' ? `${value} seconds` : `${value} ${unit}`
}

function round(value: number): number {
  return Number(value.toPrecision(3))
}
