import type { Mailer } from '../../alerting/notifiers/notifier.ts'
import { type Clock, timestamp } from '../../clock.ts'
import { statusAt } from '../../domain/approvals/approval.ts'
import type { Db } from '../../store/db.ts'
import { listDueLinks, recordMail, type StoredLink } from '../../store/repositories/approval-links.ts'
import { findApproval } from '../../store/repositories/approvals.ts'
import { findUser } from '../../store/repositories/users.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import { codeOfLink } from '../core/approval-links.ts'

interface Deps {
  db: Db
  clock: Clock
  secrets: SecretBox
  mailer: Mailer
  publicUrl: () => string
}

const mostInPass = 20
const mostAttempts = 8
const retryMs = 30_000

/** Sends the links of waiting approvals that are due; after a crash again, with the same link. */
export async function mailApprovalLinks(deps: Deps): Promise<void> {
  const { db, clock } = deps
  const due = await db.read((tx) => listDueLinks(tx, timestamp(clock.wallMs()), mostInPass))
  for (const link of due) {
    const attempts = link.attempts + 1
    const mail = await sent(deps, link)
    const isLast = mail === 'due' && attempts >= mostAttempts
    const nextAt = timestamp(clock.wallMs() + retryMs * 2 ** attempts)
    await db.write((tx) => recordMail(tx, link.linkId, { mail: isLast ? 'dropped' : mail, attempts, nextAt }))
  }
}

async function sent(
  { db, clock, secrets, mailer, publicUrl }: Deps,
  link: StoredLink,
): Promise<'due' | 'sent' | 'dropped'> {
  const found = await db.read(async (tx) => ({
    approval: await findApproval(tx, link.approvalId),
    user: await findUser(tx, { userId: link.userId }),
  }))
  const { approval, user } = found
  if (!approval || !user || statusAt(approval, timestamp(clock.wallMs())) !== 'pending') return 'dropped'
  const { requestedBy, steps, reason } = approval
  const result = await mailer({
    to: user.email,
    subject: 'Longshore: a change waits for your approval',
    lines: [
      `${requestedBy.agent ?? `A caller of kind ${requestedBy.kind}`} asks for a change that you may approve or deny:`,
      approval.title,
      ...(reason === null ? [] : [`Reason: ${reason}`]),
      ...steps.flatMap(({ effects }) => effects),
      `See exactly what it would do, and decide: ${publicUrl()}/console/approval-link/${codeOfLink(secrets, link)}`,
      `The link is yours alone, works once, and ends at ${approval.expiresAt}. Opening it decides nothing.`,
    ],
  })
  if (result.ok) return 'sent'
  return result.retry ? 'due' : 'dropped'
}
