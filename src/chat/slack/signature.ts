import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

const mostAgeMs = 5 * 60_000

/** The signature of Slack, version 0, over the exact bytes of the body. Null: forged, or older than five minutes. */
export function checkedSignature(
  headers: IncomingHttpHeaders,
  body: Buffer,
  { signingSecret, nowMs }: { signingSecret: string; nowMs: number },
): string | null {
  const at = headers['x-slack-request-timestamp']
  const given = headers['x-slack-signature']
  if (typeof at !== 'string' || typeof given !== 'string' || !/^\d{1,12}$/.test(at)) return null
  if (Math.abs(nowMs - Number(at) * 1000) > mostAgeMs) return null
  const expected = `v0=${createHmac('sha256', signingSecret).update(`v0:${at}:`).update(body).digest('hex')}`
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other) ? expected : null
}
