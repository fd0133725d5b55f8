import type { AlertState } from '../contract/alerts.ts'
import { metricUnits } from '../contract/metrics.ts'
import type { StoredAlert } from './alert.ts'

export const noticeEvents = ['firing', 'resolved', 'test'] as const
export type NoticeEvent = (typeof noticeEvents)[number]

/** What is told about an alert (contract.md 9): the webhook's body, and what the other kinds are written from. */
export interface Notice {
  version: '1'
  event: NoticeEvent
  /** The same on every repeat, so that a receiver can tell one. */
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
  /** When the episode began to fire. */
  startedAt: string
  url: string
}

/** A notice on its way, with what is not the receiver's business. */
export interface NoticeEnvelope {
  notice: Notice
  /** Names alert and episode: firing and resolved share it. */
  dedupKey: string
}

export function alertNotice(options: {
  event: 'firing' | 'resolved'
  eventId: string
  alert: StoredAlert
  appEnvName: string
  value: number | null
  state: AlertState
  previousState: AlertState
  startedAt: string
  url: string
}): Notice {
  const { alert, event, eventId, appEnvName, value, state, previousState, startedAt, url } = options
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
  }
}

/** A marked test notice: no alert is behind it, and its values say so. */
export function testNotice(options: {
  eventId: string
  accountId: string
  contactPointName: string
  region: string
  at: string
  url: string
}): Notice {
  return {
    version: '1',
    event: 'test',
    eventId: options.eventId,
    alertId: 'test',
    name: 'Test notice',
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
  }
}

/** The point of a notice in one line, such as `FIRING: Slow checkout (shop-prod)`. */
export function noticeTitle(notice: Notice): string {
  if (notice.event === 'test') return `TEST: ${notice.description}`
  return `${notice.event === 'firing' ? 'FIRING' : 'RESOLVED'}: ${notice.name} (${notice.appEnvName})`
}

/** The condition and what was measured, in one sentence. */
export function noticeFacts(notice: Notice): string {
  const { metric, unit, operator, threshold, value, aggregation, duration, state } = notice
  const measured =
    value === null
      ? state === 'NoData'
        ? 'No data arrives any more.'
        : 'There is no value.'
      : `The value is ${shown(value)} ${unit}.`
  const condition = `${metric} (${aggregation}) ${operator === 'gt' ? 'above' : 'below'} ${shown(threshold)} ${unit} for ${duration}`
  return `${condition}. ${measured}`
}

/** When to try a failed notice again: doubling from 5 s to 10 minutes, half of it by chance. */
export function retryDelayMs(options: {
  /** Attempts made so far, at least 1. */
  attempts: number
  /** 0 to 1. */
  random: number
}): number {
  const steps = Math.min(options.attempts - 1, 10)
  const delay = Math.min(5_000 * 2 ** steps, 10 * minuteMs)
  return delay * (0.5 + options.random / 2)
}

const minuteMs = 60_000
/** A notice that cannot be delivered is given up after this long. */
export const giveUpAfterMs = 24 * 60 * minuteMs

function shown(value: number): string {
  return String(Number(value.toPrecision(6)))
}
