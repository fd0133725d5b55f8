import type { AlertState } from '../../contract/alerts.ts'
import type { Finding } from '../../contract/diagnosis.ts'
import { metricUnits } from '../../contract/metrics.ts'
import { storyOf } from '../../contract/remediation-story.ts'
import type { RemediationRun } from '../../contract/remediations.ts'
import type { StoredAlert } from './alert.ts'

const notificationEvents = ['firing', 'resolved', 'test', 'remediation', 'call-agent'] as const
type NotificationEvent = (typeof notificationEvents)[number]

/** Why an episode ended. Only `recovered` says that the condition no longer holds. */
export type EndedBy =
  | 'recovered'
  | 'environment-stopped'
  | 'environment-deleted'
  | 'alert-deleted'
  | 'contact-point-removed'

const endings: Readonly<Record<EndedBy, string>> = {
  recovered: '',
  'environment-stopped': 'the environment was stopped',
  'environment-deleted': 'the environment was deleted',
  'alert-deleted': 'the alert was deleted',
  'contact-point-removed': 'this contact point was removed from the alert',
}

/** Identifies alert and episode: the notifications of both ends have it. */
export function episodeIdOf(alertId: string, episode: number): string {
  return `${alertId}-${episode}`
}

/** A notification (docs/interface.md#notifications): the body of a webhook and the source of the other formats. */
export interface Notification {
  version: '1'
  event: NotificationEvent
  /** The same for every attempt, so that a receiver can detect duplicates. */
  eventId: string
  alertId: string
  name: string
  description: string
  accountId: string
  appEnvId: string
  appEnvName: string
  region: string
  metric: string
  unit: string
  operator: string
  threshold: number
  value: number | null
  aggregation: string
  duration: string
  state: AlertState
  previousState: AlertState
  /** When the episode started to fire. */
  startedAt: string
  /** The page of the alert; null if people elsewhere cannot reach the platform. */
  url: string | null
  episodeId: string
  /** The episode stays open through short recoveries. */
  flapping: boolean
  /** Null unless the event is `resolved`. */
  endedBy: EndedBy | null
  /** The version that takes requests; null if there is none, or if it could not be read. */
  servingVersion: number | null
  /** The first finding of diagnose-app-env; null if there is none, or if it could not be read. */
  diagnosis: Finding | null
  /** The remediation run that the notification is about. */
  remediationRunId: string | null
  /** The run itself; only in the events `remediation` and `call-agent`. */
  remediation?: RemediationRun & { name: string }
  /** Only in the event `call-agent`. The token is sealed until it is sent. */
  agent?: AgentCall
}

/** What an agent that a remediation calls may do, and until when. */
export interface AgentCall {
  token: string
  expiresAt: string
  operations: readonly string[]
  /** It may only propose: people decide. */
  readOnly: boolean
  apiUrl: string
  mcpUrl: string
}

const undescribed = { servingVersion: null, diagnosis: null, remediationRunId: null }

/** A notification with delivery data that the receiver does not get. */
export interface NotificationEnvelope {
  notification: Notification
  /** The id of the episode: the firing and the resolved notification share it. */
  dedupKey: string
}

export function alertNotification(options: {
  event: 'firing' | 'resolved'
  eventId: string
  alert: StoredAlert
  appEnvName: string
  value: number | null
  state: AlertState
  previousState: AlertState
  startedAt: string
  url: string | null
  episodeId: string
  flapping: boolean
  endedBy: EndedBy | null
  remediationRunId: string | null
}): Notification {
  const { alert, event, eventId, appEnvName, value, state, previousState, startedAt, url } = options
  const { episodeId, flapping, endedBy, remediationRunId } = options
  const { alertId, name, description, accountId, appEnvId, region } = alert
  const { metric, operator, threshold, aggregation, duration } = alert
  return {
    version: '1',
    event,
    eventId,
    alertId,
    name,
    description,
    accountId,
    appEnvId,
    appEnvName,
    region,
    metric,
    unit: metricUnits[metric],
    operator,
    threshold,
    value,
    aggregation,
    duration,
    state,
    previousState,
    startedAt,
    url,
    episodeId,
    flapping,
    endedBy,
    ...undescribed,
    remediationRunId,
  }
}

/** How a remediation run stands, or the call of an agent. For a cause, the fields of the alert are empty. */
export function remediationNotification(options: {
  event: 'remediation' | 'call-agent'
  eventId: string
  alert: StoredAlert | null
  state: AlertState
  environment: { appEnvId: string; accountId: string; cliEnvName: string; region: string }
  run: NonNullable<Notification['remediation']>
  text: string
  url: string | null
}): Notification {
  const { event, eventId, alert, state, environment, run, text, url } = options
  const { appEnvId, accountId, cliEnvName, region } = environment
  return {
    ...{ version: '1', event, eventId, url, state, previousState: state, accountId, appEnvId },
    alertId: alert?.alertId ?? '',
    name: run.trigger.name,
    description: text,
    appEnvName: cliEnvName,
    region,
    metric: alert?.metric ?? '',
    unit: alert ? metricUnits[alert.metric] : '',
    operator: alert?.operator ?? '',
    threshold: alert?.threshold ?? 0,
    value: run.picture?.after.at(-1)?.[1] ?? run.picture?.before.at(-1)?.[1] ?? null,
    aggregation: alert?.aggregation ?? '',
    duration: alert?.duration ?? '',
    startedAt: run.trigger.startedAt,
    episodeId: run.episode,
    flapping: false,
    endedBy: null,
    ...undescribed,
    remediationRunId: run.runId,
    remediation: run,
  }
}

/** A test notification: it belongs to no alert and its values say that it is a test. */
export function testNotification(options: {
  eventId: string
  accountId: string
  contactPointName: string
  region: string
  at: string
  url: string | null
}): Notification {
  return {
    version: '1',
    event: 'test',
    eventId: options.eventId,
    alertId: 'test',
    name: 'Test notification',
    description: `A test of the contact point ${options.contactPointName}. Nothing is wrong.`,
    accountId: options.accountId,
    appEnvId: 'test',
    appEnvName: 'test',
    region: options.region,
    metric: 'cpu_percent',
    unit: metricUnits.cpu_percent,
    operator: 'gt',
    threshold: 80,
    value: 81,
    aggregation: 'mean',
    duration: '5m',
    state: 'Normal',
    previousState: 'Normal',
    startedAt: options.at,
    url: options.url,
    episodeId: 'test',
    flapping: false,
    endedBy: null,
    ...undescribed,
  }
}

/** A one-line title, such as `FIRING: Slow checkout (shop-prod)`. */
export function notificationTitle(notification: Notification): string {
  const { event, name, appEnvName, endedBy, flapping, description } = notification
  if (event === 'test') return `TEST: ${description}`
  const subject = `${name} (${appEnvName})`
  if (notification.remediation) {
    const { name: of, status } = notification.remediation
    return `REMEDIATION ${status.toUpperCase()}: ${of} (${appEnvName})`
  }
  if (event === 'firing') return `FIRING: ${subject}${flapping ? ', flapping' : ''}`
  return endedBy === 'recovered' ? `RESOLVED: ${subject}` : `CLOSED, not recovered: ${subject}`
}

/** The condition and the current value, in one sentence. */
export function notificationFacts(notification: Notification): string {
  if (notification.remediation) return storyOf(notification.remediation).join(' ')
  const { metric, unit, operator, threshold, value, aggregation, duration, event, flapping, endedBy } =
    notification
  const condition = `${metric} (${aggregation}) ${operator === 'gt' ? 'above' : 'below'} ${shown(threshold)} ${unit} for ${duration}.`
  const ending = endedBy === null ? '' : endings[endedBy]
  const facts = [
    condition,
    ...(value === null ? [] : [`The value is ${shown(value)} ${unit}.`]),
    ...(ending === '' ? [] : [`No more notifications follow, because ${ending}. It had not recovered.`]),
    ...(flapping && event === 'firing'
      ? ['It fires again and again: the next notification follows once it has been calm for a while.']
      : []),
  ]
  return facts.join(' ')
}

/** Delay before the next attempt: doubles from 5 s to 10 minutes, half of it random. */
export function retryDelayMs(options: {
  /** Attempts so far, at least 1. */
  attempts: number
  /** 0 to 1. */
  random: number
}): number {
  const steps = Math.min(options.attempts - 1, 10)
  const delay = Math.min(5_000 * 2 ** steps, 10 * minuteMs)
  return delay * (0.5 + options.random / 2)
}

const minuteMs = 60_000
/** Delivery is given up after this long. */
export const giveUpAfterMs = 24 * 60 * minuteMs

function shown(value: number): string {
  return String(Number(value.toPrecision(6)))
}
