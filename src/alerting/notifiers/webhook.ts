import type { Receiver } from '../../domain/alerts/contact-point.ts'
import type { NotificationEnvelope } from '../../domain/alerts/notification.ts'
import type { NotifyResult } from './notifier.ts'
import type { Outbound } from './outbound.ts'
import { signedHeaders } from './signature.ts'

type Webhook = Extract<Receiver, { type: 'webhook' }>

/** The notification as JSON (docs/interface.md#notifications), signed; the event id is also a header, for deduplication. */
export async function sendWebhook(
  outbound: Outbound,
  { config, signingSecrets }: Webhook,
  { notification }: NotificationEnvelope,
  atMs: number,
): Promise<NotifyResult> {
  const { url, httpMethod = 'POST', username, password = '' } = config
  const { eventId: id } = notification
  const body = JSON.stringify(notification)
  const credentials = username ? Buffer.from(`${username}:${password}`).toString('base64') : null
  return outbound({
    url,
    method: httpMethod,
    headers: {
      'content-type': 'application/json',
      'longshore-event-id': id,
      ...signedHeaders(signingSecrets, { id, atMs, body }),
      ...(credentials ? { authorization: `Basic ${credentials}` } : {}),
    },
    body,
  })
}
