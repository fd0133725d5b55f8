import type { Clock } from '../clock.ts'
import type { Receiver } from '../domain/contact-point.ts'
import { type Notice, type NoticeEnvelope, noticeFacts, noticeTitle } from '../domain/notice.ts'
import type { NotifyResult } from './notifier.ts'

type EmailConfig = Extract<Receiver, { type: 'email' }>['config']

export interface MailServer {
  /** `smtp://` or `smtps://`, with user and password; `?from=` names the sender. */
  url: string
  clock: Clock
  deadlineMs: number
}

/** Sends one mail to all addresses. The message id is made from the event, so that a repeat can be told. */
export async function sendEmail(
  server: MailServer,
  config: EmailConfig,
  { notice }: NoticeEnvelope,
): Promise<NotifyResult> {
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
    const sending = transport.sendMail(mailOf(notice, from, config.addresses))
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
    const of = config.addresses.length
    return { ok: false, retry: false, reason: `the mail server refused ${refused} of ${of} addresses` }
  } catch (error) {
    return mailFailure(error)
  } finally {
    cancel()
    transport.close()
  }
}

export function mailOf(notice: Notice, from: string, addresses: readonly string[]) {
  const lines = mailLines(notice)
  return {
    from: { name: 'Longshore', address: from },
    // As objects: an address is never parsed, so it cannot become two.
    to: addresses.map((address) => ({ name: '', address })),
    subject: oneLine(noticeTitle(notice)),
    messageId: `<${notice.eventId}@${from.split('@')[1]}>`,
    headers: { 'X-Longshore-Event-Id': notice.eventId, 'Auto-Submitted': 'auto-generated' },
    text: `${lines.join('\n')}\n`,
    html: `<!doctype html><html><body>${lines.map((line) => `<p>${html(line)}</p>`).join('')}</body></html>`,
  }
}

function mailLines(notice: Notice): string[] {
  return [
    noticeTitle(notice),
    noticeFacts(notice),
    notice.description,
    `Environment ${notice.appEnvName} in ${notice.region}, since ${notice.startedAt}.`,
    notice.url,
  ].filter((line) => line !== '')
}

/** A header is one line: nothing in a name may begin another one. */
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

/** 4xx of SMTP is "later", 5xx "never"; the server's own words stay out. */
export function mailFailure(error: unknown): NotifyResult {
  const { responseCode, code } = error as { responseCode?: unknown; code?: unknown }
  if (code === 'EAUTH') {
    return { ok: false, retry: true, reason: 'the mail server refused our user and password' }
  }
  if (typeof responseCode === 'number') {
    return { ok: false, retry: responseCode < 500, reason: `the mail server answered ${responseCode}` }
  }
  return { ok: false, retry: true, reason: 'the mail server cannot be reached' }
}
