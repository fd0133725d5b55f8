import { normalEmail } from '../../contract/email-address.ts'
import { plainLine } from '../../contract/fields.ts'
import type { GroupPermission } from '../../contract/sign-in.ts'
import { notSignedIn, type OidcPerson, type OidcRules } from '../../domain/access/oidc-person.ts'
import { newId } from '../../domain/ids.ts'
import type { Tx } from '../../store/db.ts'
import {
  countAdmins,
  deleteMembership,
  findMembershipOrInvitation,
  insertMembership,
  type Membership,
  updateMembership,
} from '../../store/repositories/accounts.ts'
import { insertAuditEntry } from '../../store/repositories/audit.ts'
import { findIdentity, type Identity, saveIdentity } from '../../store/repositories/identities.ts'
import { findFirstAccountId } from '../../store/repositories/installation.ts'
import { findUser, hasLookAlike, insertUser } from '../../store/repositories/users.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { Claim } from './console-sessions.ts'
import { spendOnce } from './passkey-challenges.ts'

interface Attempt {
  person: OidcPerson
  setting: OidcRules
  secrets: SecretBox
}

/** Signs in the one user that the person is bound to: by subject, at first by verified address. */
export function claimOfPerson(attempt: Attempt): Claim {
  const { person, setting } = attempt
  return async (tx, now) => {
    const { issuer, subject, state, stateExpiresAt, authenticatedAt } = person
    if (!(await spendOnce(tx, { challenge: state, expiresAt: stateExpiresAt }))) throw notSignedIn()
    const email = person.email === null ? null : normalEmail(person.email)
    if (setting.domains.length > 0 && !isOfDomains(email, setting.domains)) throw notSignedIn()
    const permission = permissionOf(attempt)
    const known = await findIdentity(tx, issuer, { subject })
    const userId = known?.userId ?? (await userOf(tx, attempt, { email, permission, now }))
    const membershipId = await syncMembership(tx, attempt, { userId, permission, known, now })
    await saveIdentity(tx, { issuer, subject, userId, membershipId }, now)
    // A clock that is ahead must not make a proof last longer.
    const provedAt = authenticatedAt !== null && authenticatedAt < now ? authenticatedAt : null
    return {
      userId,
      tokenId: null,
      method: 'oidc',
      provedAt: authenticatedAt === null ? null : (provedAt ?? now),
    }
  }
}

function isOfDomains(email: string | null, domains: readonly string[]): boolean {
  return email !== null && domains.includes(email.slice(email.lastIndexOf('@') + 1))
}

/** Null: none of the groups gives one. */
function permissionOf({ person, setting }: Attempt): GroupPermission | null {
  return setting.groups.find(({ group }) => person.groups.includes(group))?.permission ?? null
}

interface Found {
  email: string | null
  permission: GroupPermission | null
  now: string
}

/** The user with the verified address, or a new one where domains or groups let people in. */
async function userOf(
  tx: Tx,
  { person, setting }: Attempt,
  { email, permission, now }: Found,
): Promise<string> {
  if (email === null || email.length > 254) throw notSignedIn()
  const user = await findUser(tx, { email })
  if (user) {
    // The address was given to another person at the provider.
    if (await findIdentity(tx, person.issuer, { userId: user.userId })) throw notSignedIn()
    return user.userId
  }
  const letsIn = setting.groups.length > 0 ? permission !== null : setting.domains.length > 0
  if (!letsIn || (await hasLookAlike(tx, email))) throw notSignedIn()
  const name =
    plainLine(person.name ?? '')
      .trim()
      .slice(0, 100) || email
  return insertUser(tx, { email, name, createdAt: now })
}

interface Bound extends Omit<Found, 'email'> {
  userId: string
  known: Identity | null
}

/**
 * Groups decide over the membership in the first account that they gave, and over no other one. Resolves to its id; null
 * without one.
 */
async function syncMembership(
  tx: Tx,
  attempt: Attempt,
  { userId, permission, known, now }: Bound,
): Promise<string | null> {
  const accountId = await findFirstAccountId(tx)
  if (attempt.setting.groups.length === 0 || accountId === null) return known?.membershipId ?? null
  const before = await findMembershipOrInvitation(tx, accountId, userId)
  const isOfGroups = before !== null && before.membershipId === known?.membershipId
  if (before !== null && !isOfGroups) return null
  if (before === null && permission === null) return null
  const after = permission && membershipOf(before, { accountId, userId, permission })
  const isLastAdmin = before?.admin === true && (await countAdmins(tx, accountId)) <= 1
  if (isLastAdmin && !after?.admin) return before.membershipId
  if (before && after && before.admin === after.admin && before.manageMembers === after.manageMembers)
    return before.membershipId
  if (after === null) await deleteMembership(tx, before!.membershipId)
  else if (before === null) await insertMembership(tx, after, now)
  else await updateMembership(tx, after)
  await recordChange(tx, attempt, { before, after, now })
  return after?.membershipId ?? null
}

function membershipOf(
  before: Membership | null,
  { accountId, userId, permission }: { accountId: string; userId: string; permission: GroupPermission },
): Membership {
  const admin = permission === 'admin'
  const manageMembers = permission !== 'member'
  if (before) return { ...before, admin, manageMembers, revision: before.revision + 1 }
  const facts = { allowedAppEnvIds: [], revision: 1, invitation: null }
  return { ...facts, membershipId: newId('mem'), accountId, userId, admin, manageMembers }
}

async function recordChange(
  tx: Tx,
  { person, secrets }: Attempt,
  { before, after, now }: { before: Membership | null; after: Membership | null; now: string },
): Promise<void> {
  const { membershipId, accountId, userId } = (after ?? before)!
  const none = { sessionId: null, traceId: null, agent: null, confirmedBy: null, chat: null, tokenId: null }
  const nothing = { undid: null, approvalId: null, remediationRunId: null, impact: null, clientAddress: null }
  const entry = {
    ...{ ...none, ...nothing, at: now, accountId, principal: userId, surface: 'console' as const },
    ...{ operation: 'sign-in', objectType: 'membership', objectId: membershipId, outcome: 'done' as const },
    ...{ before, after: after && { ...after, groups: person.groups.slice(0, 100) } },
  }
  await insertAuditEntry(tx, entry, secrets)
}
