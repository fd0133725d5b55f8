import { Option } from 'commander'
import { alertAggregations, alertDurations, alertQueryRanges } from '../../contract/alerts.ts'
import { defaultThresholds, type Metric, metrics, metricUnits } from '../../contract/metrics.ts'
import { type CliCommand, choice, given, type Options, repeated } from '../command.ts'
import { UsageError } from '../command-io.ts'

/** Options of create and preview that define the condition of an alert. */
export function addConditionOptions(command: CliCommand): CliCommand {
  command.option('--name <text>', 'name of the alert').option('--description <text>', 'what to do about it')
  for (const option of [
    choice('--metric <metric>', 'what to watch', metrics),
    choice('--operator <gt|lt>', 'fires above (gt, the default) or below (lt) the threshold', ['gt', 'lt']),
    new Option('--threshold <n>', "left out: the metric's own threshold").argParser(threshold),
    choice('--duration <duration>', 'how long the condition must hold', alertDurations),
    choice('--query-range <range>', 'time range that is evaluated', alertQueryRanges),
    choice('--aggregation <kind>', 'how values of several containers are combined', alertAggregations),
    repeated('--contact-point-ids <id,...>', 'contact points to notify, by id or name'),
  ]) {
    command.addOption(option)
  }
  // Short forms that earlier versions had.
  for (const option of [
    new Option('--gt <n>').argParser(threshold),
    new Option('--lt <n>').argParser(threshold),
    choice('--for <duration>', '', alertDurations),
    choice('--range <range>', '', alertQueryRanges),
    repeated('--to <id,...>', ''),
  ]) {
    command.addOption(option.hideHelp())
  }
  return command
}

/** The fields of an alert that the options set. Throws `UsageError` with the allowed values. */
export function conditionOf(options: Options): Record<string, unknown> {
  const { name, description, metric, gt, lt, aggregation } = options
  if (gt !== undefined && lt !== undefined) throw new UsageError('use either --gt or --lt, not both')
  const contactPointIds = ((options.contactPointIds ?? options.to) as string[] | undefined)
    ?.flatMap((ids) => ids.split(','))
    .filter((id) => id !== '')
  const short = gt !== undefined ? 'gt' : lt !== undefined ? 'lt' : undefined
  return given({
    name,
    description,
    metric,
    operator: options.operator ?? short,
    threshold: options.threshold ?? gt ?? lt,
    duration: options.duration ?? options.for,
    queryRange: options.queryRange ?? options.range,
    aggregation,
    contactPointIds,
  })
}

/** A new alert: a metric is needed; without a threshold the metric's own one is taken. */
export function newAlertOf(values: Options): { input: Record<string, unknown>; metric: Metric } {
  const given = conditionOf(values)
  const metric = given.metric as Metric | undefined
  if (metric === undefined) throw new UsageError('--metric is required; alerts metrics lists the metrics')
  const side = given.operator === 'lt' ? 'below' : 'above'
  const usual = `${metric} ${side} ${defaultThresholds[metric]} ${metricUnits[metric]}`
  const defaults = {
    name: given.threshold === undefined ? usual : `${metric} ${given.operator ?? 'gt'} ${given.threshold}`,
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
    throw new UsageError(
      `the threshold must be a number in the unit of the metric, not ${JSON.stringify(text)}`,
    )
  }
  return value
}
