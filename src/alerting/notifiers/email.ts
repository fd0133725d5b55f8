import type { Clock } from '../../clock.ts'
import type { Receiver } from '../../domain/alerts/contact-point.ts'
import {
  type Notification,
  type NotificationEnvelope,
  notificationFacts,
  notificationTitle,
} from '../../domain/alerts/notification.ts'
import type { Mailer, NotifyResult } from './notifier.ts'

type EmailConfig = Extract<Receiver, { type: 'email' }>['config']

interface MailServer {
  /** `smtp://` or `smtps://`, with user and password; `?from=` sets the sender. */
  url: string
  clock: Clock
  deadlineMs: number
}

/** Sends one mail to all addresses. The message id is derived from the event, so that duplicates can be detected. */
export function sendEmail(
  server: MailServer,
  config: EmailConfig,
  { notification }: NotificationEnvelope,
): Promise<NotifyResult> {
  return send(server, (from) => mailOf(notification, from, config.addresses))
}

/** Sends the platform's own mails. */
export function createMailer(server: MailServer): Mailer {
  return ({ to, subject, lines }) =>
    send(server, (from) => ({
      ...addressed(from, [to]),
      subject: oneLine(subject),
      ...bodies(lines),
      headers: { 'Auto-Submitted': 'auto-generated' },
    })).catch(mailFailure)
}

type Mail = ReturnType<typeof addressed> &
  ReturnType<typeof bodies> & { subject: string; messageId?: string; headers: Record<string, string> }

async function send(server: MailServer, mail: (from: string) => Mail): Promise<NotifyResult> {
  const { createTransport } = await import('nodemailer')
  const { deadlineMs, clock } = server
  const { url, from } = senderOf(server.url)
  const timeouts = {
    connectionTimeout: deadlineMs,
    greetingTimeout: deadlineMs,
    socketTimeout: deadlineMs,
    dnsTimeout: deadlineMs,
  }
  const transport = createTransport({ url, ...timeouts, disableFileAccess: true, disableUrlAccess: true })
  let cancel = () => {}
  const late = new Promise<'late'>((resolve) => {
    cancel = clock.after(deadlineMs, () => resolve('late'))
  })
  try {
    const message = mail(from)
    const sending = transport.sendMail(message)
    sending.catch(() => {})
    const sent = await Promise.race([sending, late])
    if (sent === 'late') {
      return {
        ok: false,
        retry: true,
        reason: `the mail server did not answer within ${deadlineMs / 1000} s`,
      }
    }
    const refused = sent.rejected.length
    if (refused === 0) return { ok: true }
    const of = message.to.length
    return { ok: false, retry: false, reason: `the mail server refused ${refused} of ${of} addresses` }
  } catch (error) {
    return mailFailure(error)
  } finally {
    cancel()
    transport.close()
  }
}

function mailOf(notification: Notification, from: string, addresses: readonly string[]) {
  const lines = mailLines(notification)
  return {
    ...addressed(from, addresses),
    subject: oneLine(notificationTitle(notification)),
    messageId: `<${notification.eventId}@${from.split('@')[1]}>`,
    headers: { 'X-Longshore-Event-Id': notification.eventId, 'Auto-Submitted': 'auto-generated' },
    ...bodies(lines),
  }
}

/** As objects: addresses are never parsed, so one cannot become two. */
function addressed(from: string, addresses: readonly string[]) {
  return {
    from: { name: 'Longshore', address: from },
    to: addresses.map((address) => ({ name: '', address })),
  }
}

function bodies(lines: readonly string[]) {
  return {
    text: `${lines.join('\n')}\n`,
    html: `<!doctype html><html><body>${lines.map((line) => `<p>${html(line)}</p>`).join('')}</body></html>`,
  }
}

function mailLines(notification: Notification): string[] {
  return [
    notificationTitle(notification),
    notificationFacts(notification),
    notification.description,
    `Environment ${notification.appEnvName} in ${notification.region}, since ${notification.startedAt}.`,
    notification.url ?? '',
  ].filter((line) => line !== '')
}

/** A header is one line: a name must not start another header. */
function oneLine(text: string): string {
  return text.replaceAll(/[\u0000-\u001f\u007f\u2028\u2029]+/g, ' ')
}

function html(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
    .replaceAll('\n', '<br>')
}

function senderOf(smtpUrl: string): { url: string; from: string } {
  const url = new URL(smtpUrl)
  const from = url.searchParams.get('from') ?? 'longshore@localhost.localdomain'
  url.searchParams.delete('from')
  return { url: url.toString(), from }
}

/** SMTP 4xx means retry, 5xx means never. The server's message is not passed on. */
function mailFailure(error: unknown): NotifyResult {
  const { responseCode, code } = error as { responseCode?: unknown; code?: unknown }
  if (code === 'EAUTH') {
    return { ok: false, retry: true, reason: 'the mail server refused our user and password' }
  }
  if (typeof responseCode === 'number') {
    return { ok: false, retry: responseCode < 500, reason: `the mail server answered ${responseCode}` }
  }
  return { ok: false, retry: true, reason: 'the mail server cannot be reached' }
}
