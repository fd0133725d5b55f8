import { z } from 'zod'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

declare module '../db.ts' {
  interface Tables {
    acme_accounts: { directory_url: string; created_at: string; record: string }
  }
}

/** The account at a certificate authority. Its key is sealed, bound to `<directoryUrl>/key`. */
interface StoredAcmeAccount {
  directoryUrl: string
  url: string
  key: string
}

const accountRecord = recordReader<StoredAcmeAccount>(
  'acme_accounts',
  'directoryUrl',
  z.object({ directoryUrl: z.string(), url: z.string(), key: z.string() }),
)

export async function findAcmeAccount(tx: Tx, directoryUrl: string): Promise<StoredAcmeAccount | null> {
  const row = await tx
    .selectFrom('acme_accounts')
    .select('record')
    .where('directory_url', '=', directoryUrl)
    .executeTakeFirst()
  return accountRecord.one(row)
}

export async function saveAcmeAccount(tx: Tx, account: StoredAcmeAccount, now: string): Promise<void> {
  const record = JSON.stringify(account)
  await tx
    .insertInto('acme_accounts')
    .values({ directory_url: account.directoryUrl, created_at: now, record })
    .onConflict((conflict) => conflict.column('directory_url').doUpdateSet({ record }))
    .execute()
}
