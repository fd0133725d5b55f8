import type { Clock } from '../../clock.ts'
import type { Log, Secret } from '../../log.ts'
import { sendChat } from './chat.ts'
import type { Resolve } from './dial.ts'
import { sendEmail } from './email.ts'
import { sendIncident } from './incident.ts'
import type { Notifier } from './notifier.ts'
import { createOutbound } from './outbound.ts'
import { sendWebhook } from './webhook.ts'

interface NotifierOptions {
  clock: Clock
  log: Log
  allowPrivate: boolean
  incidentUrl: string
  smtpUrl: Secret | undefined
  deadlineMs?: number
  resolve?: Resolve
}

/** The notifier of an installation: one sender per type of contact point, all sharing one outbound client. */
export function createNotifier(options: NotifierOptions): Notifier {
  const { clock, log, allowPrivate, incidentUrl, smtpUrl, deadlineMs = 10_000, resolve } = options
  const outbound = createOutbound({ clock, allowPrivate, deadlineMs, ...(resolve ? { resolve } : {}) })
  const send: Notifier = async (receiver, envelope) => {
    switch (receiver.type) {
      case 'chat':
        return sendChat(outbound, receiver.config, envelope)
      case 'incident':
        return sendIncident(outbound, incidentUrl, receiver.config, envelope)
      case 'webhook':
        return sendWebhook(outbound, receiver, envelope, clock.wallMs())
      case 'email':
        if (!smtpUrl) {
          return {
            ok: false,
            retry: true,
            reason: 'no mail server is configured; the operator sets LONGSHORE_SMTP_URL',
          }
        }
        return sendEmail({ url: smtpUrl.reveal(), clock, deadlineMs }, receiver.config, envelope)
    }
  }
  return async (receiver, envelope) => {
    try {
      return await send(receiver, envelope)
    } catch (error) {
      // A bug; log only the error's name, because its message may contain an address.
      log.error({ kind: receiver.type, error: (error as Error).name }, 'cannot format a notification')
      return { ok: false, retry: true, reason: 'the notification could not be formatted' }
    }
  }
}
