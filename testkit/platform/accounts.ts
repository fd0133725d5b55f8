import { type AccountSettings, accountSettings } from '../../src/contract/accounts.ts'
import { newToken, tokenHash } from '../../src/domain/access/tokens.ts'
import { newId } from '../../src/domain/ids.ts'
import type { Db } from '../../src/store/db.ts'
import { insertAccount, insertMembership } from '../../src/store/repositories/accounts.ts'
import { insertToken } from '../../src/store/repositories/tokens.ts'
import { insertUser } from '../../src/store/repositories/users.ts'

export interface MemberOptions {
  accountId?: string
  admin?: boolean
  manageMembers?: boolean
  allowedAppEnvIds?: string[]
}

/** A user with a token and a membership, without an invitation. */
export async function insertMember(
  db: Db,
  member: MemberOptions & { accountId: string; email: string; name: string },
  now: string,
): Promise<{ userId: string; membershipId: string; token: string }> {
  const { accountId, email, name, admin = false, manageMembers = false, allowedAppEnvIds = [] } = member
  const membershipId = newId('mem')
  const token = newToken('user')
  const userId = await db.write(async (tx) => {
    const userId = await insertUser(tx, { email, name, createdAt: now })
    const permissions = { admin, manageMembers, allowedAppEnvIds }
    const membership = { membershipId, accountId, userId, ...permissions, revision: 1, invitation: null }
    await insertMembership(tx, membership, now)
    await insertToken(tx, tokenHash(token), { kind: 'user', userId }, now)
    return userId
  })
  return { userId, membershipId, token }
}

export async function insertTestAccount(
  db: Db,
  name: string,
  settings: Partial<AccountSettings>,
  now: string,
): Promise<string> {
  const accountId = newId('acc')
  await db.write((tx) =>
    insertAccount(tx, {
      accountId,
      name,
      slug: name.toLowerCase(),
      settings: accountSettings.parse(settings),
      revision: 1,
      createdAt: now,
    }),
  )
  return accountId
}
