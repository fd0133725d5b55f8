import type { Receiver } from '../domain/contact-point.ts'
import type { NoticeEnvelope } from '../domain/notice.ts'

/**
 * What became of one attempt. `reason` is ours, for people: it carries no address, no secret and nothing of what
 * the receiver said. `retry` says whether the same notice may arrive later.
 */
export type NotifyResult =
  | { ok: true }
  | { ok: false; retry: boolean; reason: string /** As the receiver asked. */; retryAfterMs?: number }

/** The port to receivers: sends one notice once. Never throws. */
export type Notifier = (receiver: Receiver, envelope: NoticeEnvelope) => Promise<NotifyResult>
