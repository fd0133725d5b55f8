import type { Receiver } from '../../domain/alerts/contact-point.ts'
import type { NotificationEnvelope } from '../../domain/alerts/notification.ts'

/**
 * The result of one attempt. `reason` is our own text for users: it never contains an address, a secret or the
 * receiver's response. `retry` is true if a later attempt may succeed.
 */
export type NotifyResult =
  | { ok: true }
  | {
      ok: false
      retry: boolean
      reason: string /** From the receiver's Retry-After. */
      retryAfterMs?: number
    }

/** A mail of the platform itself to one address; `lines` are paragraphs of plain text. */
interface PlatformMail {
  to: string
  subject: string
  lines: readonly string[]
}

/** The port to the mail server. Never throws. */
export type Mailer = (mail: PlatformMail) => Promise<NotifyResult>

/** The port to receivers: makes one attempt. Never throws. */
export type Notifier = (receiver: Receiver, envelope: NotificationEnvelope) => Promise<NotifyResult>
