import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import Database from 'libsql'
import { expect, it } from 'vitest'
import { migrations } from '../../../src/store/migrations/index.ts'
import { findMembership, listMembershipsOfUser } from '../../../src/store/repositories/accounts.ts'
import { openSqliteDb } from '../../../src/store/sqlite/db.ts'

it('memberships from before invitations stay in force', async () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-migration-'))
  const file = path.join(dir, 'longshore.db')
  const old = new Database(file)
  old.exec('create table migrations (number integer primary key, name text not null)')
  const before = migrations.slice(
    0,
    migrations.findIndex(({ name }) => name === 'invitations'),
  )
  for (const [index, { name, statements }] of before.entries()) {
    for (const statement of statements) old.exec(statement)
    old.prepare('insert into migrations (number, name) values (?, ?)').run(index + 1, name)
  }
  old.exec(
    `insert into memberships (membership_id, account_id, user_id, admin, manage_members, allowed_app_env_ids, revision, created_at)
     values ('mem_1', 'acc_1', 'usr_1', 1, 0, '[]', 3, '2026-11-01T00:00:00.000Z')`,
  )
  old.close()
  const db = await openSqliteDb(file)
  try {
    const kept = { membershipId: 'mem_1', admin: true, revision: 3, invitation: null }
    expect(await db.read((tx) => findMembership(tx, 'acc_1', 'usr_1'))).toMatchObject(kept)
    expect(await db.read((tx) => listMembershipsOfUser(tx, 'usr_1'))).toMatchObject([kept])
  } finally {
    await db.close()
    rmSync(dir, { recursive: true, force: true })
  }
})
