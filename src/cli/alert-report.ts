import type { Alert, AlertDetails } from '../contract/alerts.ts'
import type { ContactPoint } from '../contract/contact-points.ts'
import { defaultThresholds, type Metric, metrics, metricUnits } from '../contract/metrics.ts'
import { printable, readableDuration } from './progress.ts'

/** An alert with the name of its environment in URLs; `details` where they were read. */
export interface ListedAlert {
  alert: Alert
  envName: string
  details: AlertDetails | null
}

/** What a Dry-Run of create-alert and update-alert answers (contract.md 11, Preview). */
export interface Preview {
  effects: string[]
  preview: { samples: number; wouldHaveFired: { at: string; value: number }[]; noDataShare: number }
}

const shownFirings = 20
/** The most urgent first. */
const order = ['Firing', 'Error', 'NoData', 'Pending', 'Normal', 'paused'] as const
type Standing = (typeof order)[number]
const signs: Readonly<Record<Standing, string>> = {
  Firing: '✗ FIRING ',
  Error: '! Error  ',
  NoData: '? NoData ',
  Pending: '… Pending',
  Normal: '✓ Normal ',
  paused: '· paused ',
}

export function standingOf(alert: Pick<Alert, 'enabled' | 'lastKnownState'>): Standing {
  return alert.enabled ? alert.lastKnownState : 'paused'
}

/** Every alert, the firing ones first and with what to look at; one line each for those that are well. */
export function listReport(listed: readonly ListedAlert[], nowMs: number): string[] {
  if (listed.length === 0)
    return ['There are no alerts. `longshore alerts create --help` shows how to make one.']
  const rank = ({ alert }: ListedAlert) => order.indexOf(standingOf(alert))
  const sorted = [...listed].sort((a, b) => rank(a) - rank(b))
  const counts = order.flatMap((standing) => {
    const count = listed.filter(({ alert }) => standingOf(alert) === standing).length
    return count === 0 ? [] : [`${count} ${standing === 'Firing' ? 'FIRING' : standing}`]
  })
  return [counts.join(', '), '', ...sorted.flatMap((one) => listLines(one, nowMs))]
}

function listLines({ alert, envName, details }: ListedAlert, nowMs: number): string[] {
  const standing = standingOf(alert)
  const head = `${signs[standing]}  ${printable(alert.name)}  (${envName})  ${alert.alertId}`
  if (!details || standing === 'Normal' || standing === 'paused') return [head]
  const failed = failedNotices(details)
  return [
    head,
    `             ${nowLine(details)}; ${sinceLine(details, nowMs)}`,
    ...(failed === null ? [] : [`             ${failed}`]),
  ]
}

/** One alert in full: condition, value, who is told, what happened, and what to do about it. */
export function alertReport(alert: AlertDetails, envName: string, nowMs: number): string[] {
  const named = new Map(alert.contactPoints.map((point) => [point.contactPointId, printable(point.name)]))
  const description = alert.description === '' ? [] : [`  ${printable(alert.description)}`]
  const tells = alert.contactPoints.map(({ name, type }) => `${printable(name)} (${type})`)
  const { alertId, enabled } = alert
  return [
    `${signs[standingOf(alert)].trim()}  ${printable(alert.name)}  (${envName})`,
    ...description,
    '',
    `  Fires when  ${conditionText(alert)}`,
    `  Now         ${nowLine(alert)}; ${sinceLine(alert, nowMs)}`,
    `  Looked at   ${alert.lastStateCheck === null ? 'not yet' : `${agoText(alert.lastStateCheck, nowMs)} ago`}`,
    `  Tells       ${tells.length === 0 ? 'NOBODY: it has no contact point' : tells.join(', ')}`,
    '',
    ...section(
      'What happened',
      alert.stateHistory.map(({ at, from, to, value }) => {
        const measured = value === null ? '' : `  ${amountText(value, alert.metric)}`
        return `${at}  ${from} → ${to}${measured}`
      }),
    ),
    ...section(
      'Notices',
      alert.notifications.map(({ at, contactPointId, ok, reason }) => {
        const to = named.get(contactPointId) ?? contactPointId
        return `${ok ? '✓' : '✗'} ${at}  ${to}${reason === undefined ? '' : `: ${printable(reason)}`}`
      }),
    ),
    enabled
      ? `  Quiet it with: longshore alerts pause ${alertId}`
      : `  It is paused: not looked at, and tells nobody. longshore alerts resume ${alertId}`,
  ]
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`  ${title}`, ...lines.map((line) => `    ${line}`), '']
}

/** The answer of a preview: sentences, then each time it would have fired. */
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

export function pointsReport(points: readonly ContactPoint[]): string[] {
  if (points.length === 0) return ['There are no contact points.']
  return points.map(
    ({ contactPointId, type, name }) => `${contactPointId}  ${type.padEnd(8)}  ${printable(name)}`,
  )
}

/** The metrics of interface.md 2.7: what a threshold means, and the usual one. */
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
  if (currentValue === null) return `nothing is measured for ${metric}`
  const isMet = operator === 'gt' ? currentValue > threshold : currentValue < threshold
  const relation = currentValue === threshold ? 'exactly' : currentValue > threshold ? 'above' : 'below'
  const mark = isMet ? '' : ' (fine)'
  return `${metric} is ${amountText(currentValue, metric)}, ${relation} ${amountText(threshold, metric)}${mark}`
}

function sinceLine(alert: AlertDetails, nowMs: number): string {
  const last = alert.stateHistory[0]
  return last === undefined
    ? 'no change so far'
    : `${alert.lastKnownState} for ${agoText(last.at, nowMs)}, since ${last.at}`
}

/** The newest notice to somebody who did not get it; null when all have arrived. */
function failedNotices(alert: AlertDetails): string | null {
  const newest = new Map<string, AlertDetails['notifications'][number]>()
  for (const notice of alert.notifications) {
    if (!newest.has(notice.contactPointId)) newest.set(notice.contactPointId, notice)
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
