import { Option } from 'commander'
import { alertDurations, alertQueryRanges, type createAlert } from '../../contract/alerts.ts'
import { defaultThresholds, type Metric, metricUnits, usualOperator } from '../../contract/metrics.ts'
import type { OutputOf } from '../../contract/operation.ts'
import { choice, given, type Options, repeated } from '../command.ts'
import { UsageError } from '../command-io.ts'
import { printable } from '../progress.ts'
import type { Input, RowExtension } from '../rows/extension.ts'
import { conditionText, previewReport } from './report.ts'

/** Short forms that earlier versions had. */
export const shortForms: readonly Option[] = [
  new Option('--gt <n>').argParser(threshold),
  new Option('--lt <n>').argParser(threshold),
  choice('--for <duration>', '', alertDurations),
  choice('--range <range>', '', alertQueryRanges),
  repeated('--to <id,...>', ''),
].map((option) => option.hideHelp())

/** `alerts create`: only the metric is required; without a threshold, the metric's own one is taken. */
export const newAlertExtension: RowExtension = {
  options: shortForms,
  filled: ['name', 'operator', 'threshold', 'duration', 'contactPointIds'],
  prepare: completeAlert,
  render: createdLines,
  renderDryRun: (answer, { metric }) => previewReport(answer, metric as Metric),
}

/** Fills in the short forms, then the defaults of a new alert. */
export function completeAlert(input: Input, options: Options): void {
  addShortForms(input, options)
  const metric = input.metric as Metric
  const { operator = usualOperator(metric), threshold } = input
  const side = operator === 'lt' ? 'below' : 'above'
  const usual = `${metric} ${side} ${defaultThresholds[metric]} ${metricUnits[metric]}`
  const defaults = {
    name: threshold === undefined ? usual : `${metric} ${operator} ${threshold}`,
    operator,
    threshold: defaultThresholds[metric],
    duration: '5m',
    contactPointIds: [],
  }
  Object.assign(input, { ...defaults, ...input })
}

export function addShortForms(input: Input, { gt, lt, for: duration, range, to }: Options): void {
  if (gt !== undefined && lt !== undefined) throw new UsageError('use either --gt or --lt, not both')
  const short = given({
    operator: gt !== undefined ? 'gt' : lt !== undefined ? 'lt' : undefined,
    threshold: gt ?? lt,
    duration,
    queryRange: range,
    contactPointIds: (to as string[] | undefined)?.flatMap((ids) => ids.split(',')).filter((id) => id !== ''),
  })
  Object.assign(input, { ...short, ...input })
}

function createdLines({ message, alert }: OutputOf<typeof createAlert>): string[] {
  const names = alert.contactPoints.map(({ name }) => printable(name))
  return [
    printable(message),
    `${alert.alertId} fires when ${conditionText(alert)}.`,
    names.length === 0
      ? `No contact point is set; add one with longshore alerts update ${alert.alertId} --contact-point-ids <id or name>.`
      : `Notifies ${names.join(', ')}.`,
  ]
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
