import { z } from 'zod'
import type { OAuthClient } from '../../domain/access/oauth-client.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

declare module '../db.ts' {
  interface Tables {
    oauth_clients: { client_id: string; record: string; created_at: string; used_at: string | null }
  }
}

const clientRecord = recordReader<OAuthClient>(
  'oauth_clients',
  'clientId',
  z.object({ clientId: z.string(), name: z.string(), redirectUris: z.array(z.string()) }),
)

/** Stores a client that registered itself. */
export async function insertOAuthClient(tx: Tx, client: OAuthClient, now: string): Promise<void> {
  const row = { client_id: client.clientId, record: JSON.stringify(client), created_at: now, used_at: null }
  await tx.insertInto('oauth_clients').values(row).execute()
}

export async function findOAuthClient(tx: Tx, clientId: string): Promise<OAuthClient | null> {
  const row = await tx
    .selectFrom('oauth_clients')
    .select('record')
    .where('client_id', '=', clientId)
    .executeTakeFirst()
  return clientRecord.one(row)
}

export async function countOAuthClients(tx: Tx): Promise<number> {
  const { count } = await tx
    .selectFrom('oauth_clients')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Makes room for another client: forgets the oldest one that no person allows anything now; false if there is none. */
export async function forgetOldestIdleOAuthClient(
  tx: Tx,
  { idleSince, now }: { idleSince: string; now: string },
): Promise<boolean> {
  const oldest = await tx
    .selectFrom('oauth_clients as client')
    .select('client_id')
    .where((e) => e(e.fn.coalesce('used_at', 'created_at'), '<=', idleSince))
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('oauth_grants as grant')
            .innerJoin('tokens', 'tokens.token_id', 'grant.token_id')
            .select('grant.token_id')
            .whereRef('grant.client_id', '=', 'client.client_id')
            .where((or) => or.or([or('expires_at', 'is', null), or('expires_at', '>', now)])),
        ),
      ),
    )
    .orderBy((e) => e.fn.coalesce('used_at', 'created_at'))
    .limit(1)
    .executeTakeFirst()
  if (!oldest) return false
  await tx.deleteFrom('oauth_clients').where('client_id', '=', oldest.client_id).execute()
  return true
}

export async function noteOAuthClientUse(tx: Tx, clientId: string, now: string): Promise<void> {
  await tx.updateTable('oauth_clients').set({ used_at: now }).where('client_id', '=', clientId).execute()
}

/** Deletes clients that were registered but never used, and those not used for long. */
export async function forgetOAuthClientsBefore(
  tx: Tx,
  { unusedSince, usedBefore }: { unusedSince: string; usedBefore: string },
): Promise<void> {
  await tx
    .deleteFrom('oauth_clients')
    .where((row) =>
      row.or([
        row.and([row('used_at', 'is', null), row('created_at', '<=', unusedSince)]),
        row('used_at', '<=', usedBefore),
      ]),
    )
    .execute()
}
