import type { Alert } from '../../contract/alerts.ts'
import { defaultThresholds, isIngressMetric, metricUnits } from '../../contract/metrics.ts'

/** The definition of an alert, without its evaluation state (state.ts). */
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

type Threshold = Pick<Alert, 'metric' | 'operator' | 'threshold'>
interface Size {
  cpuMillicores: number
  memoryMb: number
}

/** Warns about a threshold that seems to be in another unit or can never be crossed, and names the usual one. */
export function thresholdWarnings(rule: Threshold, size?: Size): string[] {
  const { metric } = rule
  const usual = `The default of ${metric} is above ${amount(defaultThresholds[metric], metricUnits[metric])}.`
  return implausible(rule, size).map((warning) => `${warning} ${usual}`)
}

function implausible(rule: Threshold, size?: Size): string[] {
  const { metric, operator, threshold } = rule
  const unit = metricUnits[metric]
  const reading = `${threshold} on ${metric} is ${amount(threshold, unit)}`
  if (threshold < 0 || (threshold === 0 && operator === 'lt')) {
    return [
      operator === 'lt'
        ? `${reading}: values are never below it, so this never fires.`
        : `${reading}: every value is above it, so this always fires.`,
    ]
  }
  if (unit === '%' && threshold >= 100 && operator === 'gt' && (threshold > 100 || isIngressMetric(metric))) {
    if (metric.startsWith('cpu_')) return [`${reading}: ${heldAtLimit}`]
    return [`${reading}: a share is never above 100 %, so this never fires.`]
  }
  if (unit === '%' && threshold > 0 && threshold < 1) {
    return [`${reading}, not ${round(threshold * 100)} %.`]
  }
  if (unit === 'millicores' && threshold > 0 && threshold <= 100) {
    return [`${reading}, ${round(threshold / 1000)} of a core. For a share of the limit use cpu_percent.`]
  }
  if (unit === 'MB' && threshold > 0 && threshold <= 100) {
    return [`${reading}. For a share of the limit use memory_percent.`]
  }
  if (unit === 's' && threshold >= 60) {
    return [`${reading}. If milliseconds were meant, send ${round(threshold / 1000)}.`]
  }
  return size ? aboveLimit(rule, reading, size) : []
}

/** The process engine does not limit CPU, so usage can exceed the limit there. */
const heldAtLimit = 'this never fires where the engine holds CPU at its limit.'

function aboveLimit({ metric, operator, threshold }: Threshold, reading: string, size: Size): string[] {
  const isCpu = metric.startsWith('cpu_usage')
  const limit = isCpu
    ? size.cpuMillicores
    : metric.startsWith('memory_usage')
      ? size.memoryMb
      : Number.POSITIVE_INFINITY
  if (operator !== 'gt' || threshold < limit) return []
  return [`${reading}, and the environment's limit is ${limit}: ${isCpu ? heldAtLimit : 'this never fires.'}`]
}

function amount(value: number, unit: string): string {
  return unit === 's' ? `${value} seconds` : `${value} ${unit}`
}

function round(value: number): number {
  return Number(value.toPrecision(3))
}

/** The warning about an alert without a contact point: it works, and the console shows it. */
export const unheardAlert = 'It sends no notifications: contactPointIds is empty.'
