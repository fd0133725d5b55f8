import { createHmac } from 'node:crypto'
import { signingPrefix } from '../../domain/alerts/contact-point.ts'

/**
 * Headers of Standard Webhooks: `id` is the same for every attempt. During a rotation the signatures of both secrets
 * stand side by side; without a secret there is none.
 */
export function signedHeaders(
  secrets: readonly string[],
  { id, atMs, body }: { id: string; atMs: number; body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(atMs / 1000))
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(signingPrefix.length), 'base64')
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    ...(signatures.length === 0 ? {} : { 'webhook-signature': signatures.join(' ') }),
  }
}
