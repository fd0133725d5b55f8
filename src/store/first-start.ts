import { rmSync } from 'node:fs'
import { accountSettings } from '../contract/accounts.ts'
import { newToken, tokenHash } from '../domain/access/tokens.ts'
import { newId } from '../domain/ids.ts'
import { startingPolicy } from '../domain/policy/starting.ts'
import type { Secret } from '../log.ts'
import { type Home, secretFile } from './data-directory.ts'
import type { Db, Tx } from './db.ts'
import { insertAccount, insertMembership } from './repositories/accounts.ts'
import { savePolicy } from './repositories/policies.ts'
import { insertToken } from './repositories/tokens.ts'
import { insertUser } from './repositories/users.ts'

interface InstallationRow {
  installationId: string
  /** The first account. */
  accountId: string
}

/**
 * Creates the installation's id, first account and admin at the first start, in one transaction. The token is written
 * to disk before its hash is stored, so that a crash in between leaves a file that the next start uses.
 */
export async function firstStart(
  db: Db,
  home: Home,
  bootstrapToken: Secret | undefined,
  now: string,
): Promise<InstallationRow> {
  const known = await readInstallation(db)
  if (known) return known
  const token = secretFile(home.adminToken, () => bootstrapToken?.reveal() ?? newToken('user'))
  let isFirst = true
  const made = await db.write(async (tx) => {
    // Another control plane of the same database may have been faster.
    const other = await installationIn(tx)
    isFirst = other === null
    if (other) return other
    const installationId = newId('key').slice('key_'.length)
    const accountId = newId('acc')
    const userId = await insertUser(tx, { email: 'admin@localhost', name: 'Admin', createdAt: now })
    const settings = accountSettings.parse({})
    await insertAccount(tx, {
      accountId,
      name: 'Default',
      slug: 'default',
      settings,
      revision: 1,
      createdAt: now,
    })
    await savePolicy(tx, { accountId, revision: 1, content: startingPolicy('careful') })
    await insertMembership(
      tx,
      {
        membershipId: newId('mem'),
        accountId,
        userId,
        admin: true,
        manageMembers: true,
        allowedAppEnvIds: [],
        revision: 1,
        invitation: null,
      },
      now,
    )
    await insertToken(tx, tokenHash((bootstrapToken ?? token).reveal()), { kind: 'user', userId }, now)
    const rows = { installationId, accountId }
    await tx
      .insertInto('installation')
      .values(Object.entries(rows).map(([key, value]) => ({ key, value })))
      .execute()
    return rows
  })
  // The token in it is not stored.
  if (!isFirst) rmSync(home.adminToken, { force: true })
  return made
}

/** Null before the first start. */
export function readInstallation(db: Db): Promise<InstallationRow | null> {
  return db.read(installationIn)
}

async function installationIn(tx: Tx): Promise<InstallationRow | null> {
  const rows = await tx.selectFrom('installation').selectAll().execute()
  const value = (key: string) => rows.find((row) => row.key === key)?.value
  const installationId = value('installationId')
  const accountId = value('accountId')
  return installationId && accountId ? { installationId, accountId } : null
}
