import type { Receiver } from '../domain/contact-point.ts'
import { type NoticeEnvelope, noticeFacts, noticeTitle } from '../domain/notice.ts'
import type { NotifyResult } from './notifier.ts'
import type { Outbound } from './outbound.ts'

type IncidentConfig = Extract<Receiver, { type: 'incident' }>['config']

export async function sendIncident(
  outbound: Outbound,
  endpoint: string,
  config: IncidentConfig,
  envelope: NoticeEnvelope,
): Promise<NotifyResult> {
  return outbound({
    url: endpoint,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(incidentEvent(config, envelope)),
    trusted: true,
  })
}

/** An Events-API-v2 event. Trigger and resolve of one episode share the key, so repeats open no second incident. */
export function incidentEvent(config: IncidentConfig, { notice, dedupKey }: NoticeEnvelope) {
  const isTest = notice.event === 'test'
  return {
    routing_key: config.integrationKey,
    event_action: notice.event === 'resolved' ? 'resolve' : 'trigger',
    dedup_key: dedupKey,
    client: 'Longshore',
    client_url: notice.url,
    payload: {
      summary: noticeTitle(notice).slice(0, 1024),
      source: notice.appEnvName,
      severity: isTest ? 'info' : (config.severity ?? 'error'),
      timestamp: notice.startedAt,
      component: notice.metric,
      group: notice.region,
      custom_details: { ...notice, text: noticeFacts(notice) },
    },
  }
}
