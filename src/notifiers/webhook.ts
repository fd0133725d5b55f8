import type { Receiver } from '../domain/contact-point.ts'
import type { NoticeEnvelope } from '../domain/notice.ts'
import type { NotifyResult } from './notifier.ts'
import type { Outbound } from './outbound.ts'

type WebhookConfig = Extract<Receiver, { type: 'webhook' }>['config']

/** The notice as it is (contract.md 9), with its event id as a header for receivers that look there first. */
export async function sendWebhook(
  outbound: Outbound,
  config: WebhookConfig,
  { notice }: NoticeEnvelope,
): Promise<NotifyResult> {
  const { url, httpMethod = 'POST', username, password = '' } = config
  const credentials = username ? Buffer.from(`${username}:${password}`).toString('base64') : null
  return outbound({
    url,
    method: httpMethod,
    headers: {
      'content-type': 'application/json',
      'longshore-event-id': notice.eventId,
      ...(credentials ? { authorization: `Basic ${credentials}` } : {}),
    },
    body: JSON.stringify(notice),
  })
}
