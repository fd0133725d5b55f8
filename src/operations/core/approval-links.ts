import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { timestamp } from '../../clock.ts'
import { operations } from '../../contract/index.ts'
import { mayAccess } from '../../domain/access/environment-access.ts'
import { environmentsOf, type StoredApproval } from '../../domain/approvals/approval.ts'
import { newId } from '../../domain/ids.ts'
import { findAccount, listMembersOfAccount, type Membership } from '../../store/repositories/accounts.ts'
import {
  type ApprovalLink,
  countLinksOfUser,
  insertApprovalLink,
  type StoredLink,
} from '../../store/repositories/approval-links.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { Context } from './handler.ts'

/** Agents may request any number of approvals, so mail is limited to prevent floods. */
const mostAnHour = 20
const mostOfApproval = 50

const byId = new Map(operations.map((row) => [row.id, row]))

/** Makes a link for each person who may approve; a worker mails them (approvals/link-mail.ts). */
export async function inviteApprovers(context: Context, approval: StoredApproval): Promise<void> {
  const { tx, now, secrets } = context
  const account = await findAccount(tx, approval.accountId)
  if (!account) return
  const hourAgo = timestamp(Date.parse(now) - 3_600_000)
  const members = await listMembersOfAccount(tx, approval.accountId)
  const people = members.filter(({ membership }) => mayApprove(account, membership, approval))
  for (const { membership } of people.slice(0, mostOfApproval)) {
    const { userId } = membership
    if ((await countLinksOfUser(tx, userId, hourAgo)) >= mostAnHour) continue
    const linkId = newId('lnk')
    const { approvalId, reviewDigest, expiresAt } = approval
    const sealedKey = secrets.seal(randomBytes(32).toString('base64url'), keyName(linkId))
    await insertApprovalLink(tx, { linkId, approvalId, userId, reviewDigest, expiresAt, sealedKey }, now)
  }
}

/** As the decision checks it; that of the steps themselves is final when they run. */
function mayApprove(
  account: NonNullable<Awaited<ReturnType<typeof findAccount>>>,
  membership: Membership,
  { approvers, requestedBy, steps }: StoredApproval,
): boolean {
  const needs = [approvers.needs, ...steps.map(({ operation }) => byId.get(operation)?.policy.needs)]
  const { admin, manageMembers, userId, invitation } = membership
  return (
    invitation === null &&
    !(approvers.notRequester && requestedBy.userId === userId) &&
    needs.every((one) => one === undefined || admin || (one === 'manageMembers' && manageMembers)) &&
    environmentsOf(steps).every((appEnvId) => mayAccess(account, membership, appEnvId))
  )
}

/** The code in the address of a link: its id, and a signature of everything it is bound to. */
export function codeOfLink(secrets: SecretBox, link: StoredLink): string {
  return `${link.linkId}.${signatureOf(secrets, link)}`
}

export function isSigned(secrets: SecretBox, link: StoredLink, code: string): boolean {
  const [given, expected] = [code, codeOfLink(secrets, link)].map((text) => Buffer.from(text))
  return given!.length === expected!.length && timingSafeEqual(given!, expected!)
}

function signatureOf(secrets: SecretBox, link: StoredLink): string {
  const { linkId, approvalId, userId, reviewDigest, expiresAt } = link satisfies ApprovalLink
  const key = secrets.open(link.sealedKey, keyName(linkId))
  const bound = JSON.stringify([linkId, approvalId, userId, reviewDigest, expiresAt])
  return createHmac('sha256', Buffer.from(key, 'base64url')).update(bound).digest('base64url')
}

const keyName = (linkId: string) => `${linkId}/key`
