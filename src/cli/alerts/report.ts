import type { Alert, AlertDetails } from '../../contract/alerts.ts'
import { defaultThresholds, type Metric, metrics, metricUnits } from '../../contract/metrics.ts'
import { printable, readableDuration } from '../progress.ts'

/** An alert with the cliEnvName of its environment, and with details if they were read. */
export type ListedAlert = (Alert | AlertDetails) & { envName: string }

/** Response of a dry run of create-alert and update-alert (docs/interface.md#alert-preview). */
interface Preview {
  effects: string[]
  preview: { samples: number; wouldHaveFired: { at: string; value: number }[]; noDataShare: number }
}

const shownFirings = 20
/** The most urgent first. */
const order = ['Firing', 'Error', 'NoData', 'Pending', 'Normal', 'paused'] as const
type ShownState = (typeof order)[number]
const signs: Readonly<Record<ShownState, string>> = {
  Firing: '✗ FIRING ',
  Error: '! Error  ',
  NoData: '? NoData ',
  Pending: '… Pending',
  Normal: '✓ Normal ',
  paused: '· paused ',
}

export function shownStateOf(alert: Pick<Alert, 'enabled' | 'lastKnownState'>): ShownState {
  return alert.enabled ? alert.lastKnownState : 'paused'
}

/** All alerts, firing ones first and with details; one line each for normal ones. */
export function listReport(alerts: readonly ListedAlert[], nowMs: number): string[] {
  if (alerts.length === 0)
    return ['There are no alerts. `longshore alerts create --help` shows how to create one.']
  const counts = order.flatMap((state) => {
    const count = alerts.filter((alert) => shownStateOf(alert) === state).length
    return count === 0 ? [] : [`${count} ${state === 'Firing' ? 'FIRING' : state}`]
  })
  const rank = (alert: ListedAlert) => order.indexOf(shownStateOf(alert))
  const sorted = [...alerts].sort((a, b) => rank(a) - rank(b))
  return [counts.join(', '), '', ...sorted.flatMap((alert) => listLines(alert, nowMs))]
}

function listLines(alert: ListedAlert, nowMs: number): string[] {
  const state = shownStateOf(alert)
  const head = `${signs[state]}  ${printable(alert.name)}  (${alert.envName})  ${alert.alertId}`
  if (!('stateHistory' in alert) || state === 'Normal' || state === 'paused') return [head]
  const failed = failedNotifications(alert)
  return [
    head,
    `             ${nowLine(alert)}; ${sinceLine(alert, nowMs)}`,
    ...(failed === null ? [] : [`             ${failed}`]),
  ]
}

/** One alert in full: condition, value, contact points, history and next steps. */
export function alertReport(alert: AlertDetails, envName: string, nowMs: number): string[] {
  const named = new Map(alert.contactPoints.map((point) => [point.contactPointId, printable(point.name)]))
  const description = alert.description === '' ? [] : [`  ${printable(alert.description)}`]
  const notifies = alert.contactPoints.map(({ name, type }) => `${printable(name)} (${type})`)
  const { alertId, enabled } = alert
  return [
    `${signs[shownStateOf(alert)].trim()}  ${printable(alert.name)}  (${envName})`,
    ...description,
    '',
    `  Fires when  ${conditionText(alert)}`,
    `  Now         ${nowLine(alert)}; ${sinceLine(alert, nowMs)}`,
    `  Evaluated   ${alert.lastStateCheck === null ? 'not yet' : `${agoText(alert.lastStateCheck, nowMs)} ago`}`,
    `  Notifies    ${notifies.length === 0 ? 'no contact point is set' : notifies.join(', ')}`,
    '',
    ...section(
      'What happened',
      alert.stateHistory.map(({ at, from, to, value }) => {
        const valueText = value === null ? '' : `  ${amountText(value, alert.metric)}`
        return `${at}  ${from} → ${to}${valueText}`
      }),
    ),
    ...section(
      'Notifications',
      alert.notifications.map(({ at, contactPointId, ok, reason }) => {
        const to = named.get(contactPointId) ?? contactPointId
        return `${ok ? '✓' : '✗'} ${at}  ${to}${reason === undefined ? '' : `: ${printable(reason)}`}`
      }),
    ),
    enabled
      ? `  Pause it with: longshore alerts pause ${alertId}`
      : `  It is paused: no evaluation, no notifications. Resume it with: longshore alerts resume ${alertId}`,
  ]
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`  ${title}`, ...lines.map((line) => `    ${line}`), '']
}

/** The result of a preview: sentences, then each time the alert would have fired. */
export function previewReport({ effects, preview }: Preview, metric: Metric): string[] {
  const { wouldHaveFired } = preview
  const times = wouldHaveFired
    .slice(-shownFirings)
    .map(({ at, value }) => `  ${at}  ${amountText(value, metric)}`)
  const left = wouldHaveFired.length - times.length
  return [
    ...effects.map((effect) => printable(effect)),
    ...(left > 0 ? [`  … ${left} earlier`] : []),
    ...times,
    'Nothing was changed.',
  ]
}

/** The metrics (2.7) with unit and usual threshold. */
export function metricsReport(): string[] {
  const row = (metric: string, unit: string, usual: string) =>
    `${metric.padEnd(24)}  ${unit.padEnd(10)}  ${usual}`.trimEnd()
  return [
    row('metric', 'unit', 'default threshold'),
    ...metrics.map((metric) => row(metric, metricUnits[metric], String(defaultThresholds[metric]))),
  ]
}

type Condition = Pick<Alert, 'metric' | 'operator' | 'threshold' | 'duration' | 'aggregation' | 'queryRange'>

export function conditionText(alert: Condition): string {
  const { metric, operator, threshold, duration, aggregation, queryRange } = alert
  const side = operator === 'gt' ? 'above' : 'below'
  return `${aggregation} of ${metric} over ${queryRange} is ${side} ${amountText(threshold, metric)} for ${duration}`
}

function nowLine(alert: AlertDetails): string {
  const { metric, currentValue, operator, threshold } = alert
  if (currentValue === null) return `no samples of ${metric}`
  const isMet = operator === 'gt' ? currentValue > threshold : currentValue < threshold
  const relation = currentValue === threshold ? 'exactly' : currentValue > threshold ? 'above' : 'below'
  const remark = isMet ? '' : ' (fine)'
  return `${metric} is ${amountText(currentValue, metric)}, ${relation} ${amountText(threshold, metric)}${remark}`
}

function sinceLine(alert: AlertDetails, nowMs: number): string {
  const last = alert.stateHistory[0]
  return last === undefined
    ? 'no change so far'
    : `${alert.lastKnownState} for ${agoText(last.at, nowMs)}, since ${last.at}`
}

/** The contact points whose newest notification was not delivered; null if all were. */
function failedNotifications(alert: AlertDetails): string | null {
  const newest = new Map<string, AlertDetails['notifications'][number]>()
  for (const notification of alert.notifications) {
    if (!newest.has(notification.contactPointId)) newest.set(notification.contactPointId, notification)
  }
  const failed = [...newest.values()].filter(({ ok }) => !ok)
  if (failed.length === 0) return null
  const names = failed.map(({ contactPointId, reason = '' }) => {
    const point = alert.contactPoints.find((one) => one.contactPointId === contactPointId)
    return `${printable(point?.name ?? contactPointId)} (${printable(reason)})`
  })
  return `NOT DELIVERED to ${names.join(', ')}`
}

function amountText(value: number, metric: Metric): string {
  const unit = metricUnits[metric]
  return `${Number(value.toPrecision(4))}${unit === '%' || unit === 's' ? '' : ' '}${unit}`
}

function agoText(at: string, nowMs: number): string {
  return readableDuration(Math.max(0, nowMs - Date.parse(at)))
}
