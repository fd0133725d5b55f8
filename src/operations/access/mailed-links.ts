import { randomBytes } from 'node:crypto'
import type { Mailer } from '../../alerting/notifiers/notifier.ts'
import { type Clock, timestamp } from '../../clock.ts'
import { normalEmail } from '../../contract/email-address.ts'
import { tokenHash } from '../../domain/access/tokens.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import {
  countSignInLinks,
  findSignInLink,
  insertSignInLink,
  listDueSignInLinks,
  recordSignInMail,
  type SignInLink,
  setSignInCode,
  takeSignInLink,
} from '../../store/repositories/sign-in-links.ts'
import { findUser } from '../../store/repositories/users.ts'
import { networkOf, RateLimit, rateLimited } from '../core/rate-limit.ts'
import { type Claim, linkInvalid } from './console-sessions.ts'

const linkLifeMs = 15 * 60_000
/** Mails an hour to one person; requests beyond it have the same answer. */
const mostAnHour = 5
/** Requests of one client. */
const requestsOfOne = { perSecond: 20 / 3_600, burst: 10 }
const mostInPass = 20
const mostAttempts = 6
const retryMs = 5_000

/** Sign-in by a link that is mailed to a user. */
export interface MailedLinks {
  /** Returns the same for any address, before it checks whether a user has it. Throws `rate-limited` for the client. */
  request(email: string, clientAddress: string): void
  /** Whom the link signs in; spends nothing, so that mail scanners do not. Throws `unauthenticated`. */
  preview(code: string): Promise<{ email: string; name: string }>
  claim(code: string): Claim
}

export function createMailedLinks(deps: {
  db: Db
  clock: Clock
  log: Log
  /** A mail is due. */
  wake: () => void
}): MailedLinks {
  const { db, clock, log, wake } = deps
  const limit = new RateLimit(requestsOfOne, clock)

  async function store(email: string): Promise<void> {
    const nowMs = clock.wallMs()
    const user = await db.read((tx) => findUser(tx, { email }))
    if (!user) return
    await db.write(async (tx) => {
      const { userId } = user
      if ((await countSignInLinks(tx, userId, timestamp(nowMs - 3_600_000))) >= mostAnHour) return
      await insertSignInLink(tx, { userId, now: timestamp(nowMs), expiresAt: timestamp(nowMs + linkLifeMs) })
    })
    wake()
  }

  return {
    request(email, clientAddress) {
      const wait = limit.take(networkOf(clientAddress))
      if (wait > 0) throw rateLimited(wait)
      // After the response, so that its time does not reveal which addresses exist.
      setImmediate(() => {
        store(normalEmail(email)).catch((error) => log.warn({ err: error }, 'a sign-in link was not stored'))
      })
    },

    async preview(code) {
      const found = await db.read(async (tx) => {
        const link = await findSignInLink(tx, tokenHash(code))
        return link && isOpen(link, clock) ? findUser(tx, { userId: link.userId }) : null
      })
      if (!found) throw linkInvalid()
      return { email: found.email, name: found.name }
    },

    claim: (code) => async (tx, now) => {
      const link = await takeSignInLink(tx, tokenHash(code))
      if (!link || !isOpen(link, clock)) throw linkInvalid()
      return { userId: link.userId, tokenId: null, method: 'email', provedAt: now }
    },
  }
}

function isOpen({ expiresAt }: SignInLink, clock: Clock): boolean {
  return expiresAt > timestamp(clock.wallMs())
}

/** Address of a mailed link. The code is in the fragment, so no server, log or Referer sees it. */
function addressOf(publicUrl: string, code: string): string {
  return `${publicUrl}/console/sign-in#mail.${code}`
}

interface MailDeps {
  db: Db
  clock: Clock
  mailer: Mailer
  publicUrl: () => string
}

/** Sends the links that are due. Each attempt has a code of its own: only its hash is stored. */
export async function mailSignInLinks(deps: MailDeps): Promise<void> {
  const { db, clock } = deps
  const due = await db.read((tx) => listDueSignInLinks(tx, timestamp(clock.wallMs()), mostInPass))
  for (const link of due) {
    const attempts = link.attempts + 1
    const mail = isOpen(link, clock) ? await sent(deps, link) : 'dropped'
    const isLast = mail === 'due' && attempts >= mostAttempts
    const nextAt = timestamp(clock.wallMs() + retryMs * 2 ** attempts)
    await db.write((tx) =>
      recordSignInMail(tx, link.linkId, { mail: isLast ? 'dropped' : mail, attempts, nextAt }),
    )
  }
}

async function sent(
  { db, mailer, publicUrl }: MailDeps,
  { linkId, userId, expiresAt }: SignInLink,
): Promise<'due' | 'sent' | 'dropped'> {
  const code = randomBytes(32).toString('base64url')
  const user = await db.write(async (tx) => {
    await setSignInCode(tx, linkId, tokenHash(code))
    return findUser(tx, { userId })
  })
  if (!user) return 'dropped'
  const result = await mailer({
    to: user.email,
    subject: 'Sign in to Longshore',
    lines: [
      `Open this link to sign in to the Longshore installation at ${publicUrl()} as ${user.email}:`,
      addressOf(publicUrl(), code),
      `The link works once, until ${expiresAt}. Never pass it on: anyone who has it can sign in as you.`,
      'If you did not ask for it, ignore this mail. Opening it is what signs in.',
    ],
  })
  if (result.ok) return 'sent'
  return result.retry ? 'due' : 'dropped'
}
