import type { Receiver } from '../../domain/alerts/contact-point.ts'
import type { NotificationEnvelope } from '../../domain/alerts/notification.ts'
import type { NotifyResult } from './notifier.ts'
import type { Outbound } from './outbound.ts'

type WebhookConfig = Extract<Receiver, { type: 'webhook' }>['config']

/** The notification as JSON (docs/interface.md#notifications); the event id is also a header, for deduplication. */
export async function sendWebhook(
  outbound: Outbound,
  config: WebhookConfig,
  { notification }: NotificationEnvelope,
): Promise<NotifyResult> {
  const { url, httpMethod = 'POST', username, password = '' } = config
  const credentials = username ? Buffer.from(`${username}:${password}`).toString('base64') : null
  return outbound({
    url,
    method: httpMethod,
    headers: {
      'content-type': 'application/json',
      'longshore-event-id': notification.eventId,
      ...(credentials ? { authorization: `Basic ${credentials}` } : {}),
    },
    body: JSON.stringify(notification),
  })
}
