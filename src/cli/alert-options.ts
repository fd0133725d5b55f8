import { type ParseArgsConfig, parseArgs } from 'node:util'
import { alertAggregations, alertDurations, alertQueryRanges } from '../contract/alerts.ts'
import { defaultThresholds, type Metric, metrics, metricUnits } from '../contract/metrics.ts'
import { UsageError } from './command-io.ts'

/** Options of create and preview that say what an alert watches. */
export const conditionOptions = {
  name: { type: 'string' },
  description: { type: 'string' },
  metric: { type: 'string' },
  gt: { type: 'string' },
  lt: { type: 'string' },
  for: { type: 'string' },
  range: { type: 'string' },
  aggregation: { type: 'string' },
  to: { type: 'string', multiple: true },
} as const satisfies NonNullable<ParseArgsConfig['options']>

export type ConditionValues = ReturnType<typeof parseArgs<{ options: typeof conditionOptions }>>['values']

/** What of an alert the options say; what is left out is left out. Throws `UsageError` naming what is allowed. */
export function conditionOf(values: ConditionValues): Record<string, unknown> {
  const { name, description, metric, gt, lt, to } = values
  if (gt !== undefined && lt !== undefined) throw new UsageError('--gt and --lt exclude each other')
  const side = gt ?? lt
  const condition = {
    name,
    description,
    metric: metric === undefined ? undefined : chosen('--metric', metric, metrics),
    operator: side === undefined ? undefined : lt === undefined ? 'gt' : 'lt',
    threshold: side === undefined ? undefined : threshold(side),
    duration: values.for === undefined ? undefined : chosen('--for', values.for, alertDurations),
    queryRange: values.range === undefined ? undefined : chosen('--range', values.range, alertQueryRanges),
    aggregation:
      values.aggregation === undefined
        ? undefined
        : chosen('--aggregation', values.aggregation, alertAggregations),
    contactPointIds: to?.flatMap((ids) => ids.split(',')).filter((id) => id !== ''),
  }
  return Object.fromEntries(Object.entries(condition).filter(([, value]) => value !== undefined))
}

/** A new alert: a metric is needed; without a threshold the metric's own one is taken (interface.md 2.7). */
export function newAlertOf(values: ConditionValues): { input: Record<string, unknown>; metric: Metric } {
  const given = conditionOf(values)
  const metric = given.metric as Metric | undefined
  if (metric === undefined) throw new UsageError('--metric says what to watch; alerts metrics lists them')
  const usual = `${metric} above ${defaultThresholds[metric]} ${metricUnits[metric]}`
  const defaults = {
    name: given.threshold === undefined ? usual : `${metric} ${given.operator} ${given.threshold}`,
    operator: 'gt',
    threshold: defaultThresholds[metric],
    duration: '5m',
    contactPointIds: [],
  }
  return { input: { ...defaults, ...given }, metric }
}

function threshold(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) {
    throw new UsageError(`a threshold is a number in the unit of the metric, not ${JSON.stringify(text)}`)
  }
  return value
}

/** The one of `from` that was given; throws `UsageError` naming them all. */
export function chosen<T extends string>(option: string, text: string, from: readonly T[]): T {
  const found = from.find((one) => one === text)
  if (found === undefined) throw new UsageError(`${option} is one of ${from.join(', ')}`)
  return found
}

/** `parseArgs` whose complaints are wrong calls of the command. */
export function parsedOptions<T extends NonNullable<ParseArgsConfig['options']>>(
  argv: readonly string[],
  options: T,
) {
  const config = { args: [...argv], options, allowPositionals: true, strict: true } as const
  try {
    return parseArgs(config)
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}
