import type { Mailer, NotifyResult } from '../../alerting/notifiers/notifier.ts'
import type { Clock } from '../../clock.ts'
import { RateLimit, rateLimited } from '../core/rate-limit.ts'

/** Any user may create an account and add members, so mail is limited to prevent floods. */
const mailsOfOne = { perSecond: 20 / 3_600, burst: 20 }

/** Sends tokens of new users to their e-mail addresses. */
export class TokenMail {
  readonly #mailer: Mailer
  readonly #limit: RateLimit

  constructor(mailer: Mailer, clock: Clock) {
    this.#mailer = mailer
    this.#limit = new RateLimit(mailsOfOne, clock)
  }

  /** Counts one mail of the principal, 20 an hour; throws `rate-limited` above that. */
  admit(principal: string): void {
    const wait = this.#limit.take(principal)
    if (wait > 0) throw rateLimited(wait)
  }

  /** Never throws. The only text in the mail that the inviter chose is their e-mail address. */
  send(to: string, facts: { token: string; invitedBy: string; apiUrl: string }): Promise<NotifyResult> {
    const { token, invitedBy, apiUrl } = facts
    return this.#mailer({
      to,
      subject: 'Your Longshore token',
      lines: [
        `${invitedBy} added you to the Longshore installation at ${apiUrl}.`,
        'This token is yours alone. Keep it secret; anyone who has it can act as you:',
        token,
        'To use it: set LONGSHORE_URL to the address above and LONGSHORE_TOKEN to the token.',
        'If you did not expect this mail, ignore it.',
      ],
    })
  }
}
