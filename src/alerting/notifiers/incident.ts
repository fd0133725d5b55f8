import type { Receiver } from '../../domain/alerts/contact-point.ts'
import {
  type Notification,
  type NotificationEnvelope,
  notificationFacts,
  notificationTitle,
} from '../../domain/alerts/notification.ts'
import type { NotifyResult } from './notifier.ts'
import type { Outbound } from './outbound.ts'

type IncidentConfig = Extract<Receiver, { type: 'incident' }>['config']

export async function sendIncident(
  outbound: Outbound,
  endpoint: string,
  config: IncidentConfig,
  envelope: NotificationEnvelope,
): Promise<NotifyResult> {
  return outbound({
    url: endpoint,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(incidentEvent(config, envelope)),
    trusted: true,
  })
}

/** A remediation run without work for people opens no incident: it ends that of its episode, or acknowledges it. */
function actionOf({ event, remediation }: Notification): 'trigger' | 'acknowledge' | 'resolve' {
  if (event === 'resolved') return 'resolve'
  if (remediation?.status !== 'verified' && remediation?.status !== 'skipped') return 'trigger'
  const { trigger, status } = remediation
  const isOver = trigger.endedAt !== null || (status === 'verified' && trigger.alertId === undefined)
  return isOver ? 'resolve' : 'acknowledge'
}

/** An Events API v2 event. Trigger and resolve of one episode share the key, so a repeat opens no second incident. */
function incidentEvent(config: IncidentConfig, { notification, dedupKey }: NotificationEnvelope) {
  const isTest = notification.event === 'test'
  return {
    routing_key: config.integrationKey,
    event_action: actionOf(notification),
    dedup_key: dedupKey,
    client: 'Longshore',
    ...(notification.url === null ? {} : { client_url: notification.url }),
    payload: {
      summary: notificationTitle(notification).slice(0, 1024),
      source: notification.appEnvName,
      severity: isTest ? 'info' : (config.severity ?? 'error'),
      timestamp: notification.startedAt,
      component: notification.metric,
      group: notification.region,
      custom_details: { ...notification, text: notificationFacts(notification) },
    },
  }
}
