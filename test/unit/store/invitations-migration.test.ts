import { expect, it, onTestFinished } from 'vitest'
import { findMembership, listMembershipsOfUser } from '../../../src/store/repositories/accounts.ts'
import { upgradedStore } from '../../../testkit/store/upgraded-store.ts'

it('memberships from before invitations stay in force', async () => {
  const { db, remove } = await upgradedStore(
    'invitations',
    `insert into memberships (membership_id, account_id, user_id, admin, manage_members, allowed_app_env_ids, revision, created_at)
     values ('mem_1', 'acc_1', 'usr_1', 1, 0, '[]', 3, '2026-11-01T00:00:00.000Z')`,
  )
  onTestFinished(remove)
  const kept = { membershipId: 'mem_1', admin: true, revision: 3, invitation: null }
  expect(await db.read((tx) => findMembership(tx, 'acc_1', 'usr_1'))).toMatchObject(kept)
  expect(await db.read((tx) => listMembershipsOfUser(tx, 'usr_1'))).toMatchObject([kept])
})
