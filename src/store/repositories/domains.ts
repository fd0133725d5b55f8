import { z } from 'zod'
import type { StoredDomain } from '../../domain/domains/domain.ts'
import type { Tx } from '../db.ts'
import { recordReader } from '../record.ts'

declare module '../db.ts' {
  interface Tables {
    domains: {
      domain_id: string
      domain: string
      app_env_id: string
      account_id: string
      has_certificate: number
      redirect: number
      hsts: number
      due_at: string
      created_at: string
      revision: number
      record: string
    }
  }
}

const domainRecord = recordReader<StoredDomain>(
  'domains',
  'domainId',
  z.object({
    domainId: z.string(),
    domain: z.string(),
    appEnvId: z.string(),
    status: z.string(),
    dueAt: z.string(),
    revision: z.number(),
  }),
)

export async function findDomain(tx: Tx, domain: string): Promise<StoredDomain | null> {
  const row = await tx.selectFrom('domains').select('record').where('domain', '=', domain).executeTakeFirst()
  return domainRecord.one(row)
}

/** Stable order: by creation, then name. */
export async function listDomainsOf(tx: Tx, appEnvId: string): Promise<StoredDomain[]> {
  const rows = await tx
    .selectFrom('domains')
    .select('record')
    .where('app_env_id', '=', appEnvId)
    .orderBy('created_at')
    .orderBy('domain')
    .execute()
  return domainRecord.all(rows)
}

/** What the route of an environment needs of its domains. */
export interface ServedName {
  domain: string
  hasCertificate: boolean
  redirect: boolean
  hsts: boolean
}

/** Read with every pass over an environment, so without the records. */
export async function listNamesOf(tx: Tx, appEnvId: string): Promise<ServedName[]> {
  const rows = await tx
    .selectFrom('domains')
    .select(['domain', 'has_certificate', 'redirect', 'hsts'])
    .where('app_env_id', '=', appEnvId)
    .orderBy('domain')
    .execute()
  return rows.map(({ domain, has_certificate, redirect, hsts }) => {
    return { domain, hasCertificate: has_certificate === 1, redirect: redirect === 1, hsts: hsts === 1 }
  })
}

export async function countDomainsOf(tx: Tx, appEnvId: string): Promise<number> {
  const row = await tx
    .selectFrom('domains')
    .select((e) => e.fn.countAll<number>().as('count'))
    .where('app_env_id', '=', appEnvId)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

export async function insertDomain(tx: Tx, domain: StoredDomain): Promise<void> {
  await tx
    .insertInto('domains')
    .values({
      domain_id: domain.domainId,
      domain: domain.domain,
      app_env_id: domain.appEnvId,
      account_id: domain.accountId,
      created_at: domain.createdAt,
      ...changing(domain),
    })
    .execute()
}

/** Saves the next revision; false if another one was saved or the domain is gone. */
export async function saveDomain(tx: Tx, domain: StoredDomain): Promise<boolean> {
  const next = { ...domain, revision: domain.revision + 1 }
  const { numUpdatedRows } = await tx
    .updateTable('domains')
    .set(changing(next))
    .where('domain_id', '=', domain.domainId)
    .where('revision', '=', domain.revision)
    .executeTakeFirst()
  return Number(numUpdatedRows) === 1
}

export async function deleteDomain(tx: Tx, domainId: string): Promise<void> {
  await tx.deleteFrom('domains').where('domain_id', '=', domainId).execute()
}

/** Changes whenever the certificates do, and cheap to read. */
export async function certificatesVersion(tx: Tx): Promise<string> {
  const row = await tx
    .selectFrom('domains')
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.sum<number>('revision').as('revisions'),
      fn.max('created_at').as('newest'),
    ])
    .where('has_certificate', '=', 1)
    .executeTakeFirst()
  return `${row?.count} ${row?.revisions} ${row?.newest}`
}

/** Those with a certificate, of the whole installation. */
export async function listServedDomains(tx: Tx): Promise<StoredDomain[]> {
  const rows = await tx
    .selectFrom('domains')
    .select('record')
    .where('has_certificate', '=', 1)
    .orderBy('domain')
    .execute()
  return domainRecord.all(rows)
}

function changing(domain: StoredDomain) {
  return {
    has_certificate: domain.certificate ? 1 : 0,
    redirect: domain.redirect ? 1 : 0,
    hsts: domain.hsts ? 1 : 0,
    due_at: domain.dueAt,
    revision: domain.revision,
    record: JSON.stringify(domain),
  }
}

/** Those that are due, the most overdue first. */
export async function listDueDomains(tx: Tx, now: string, limit: number): Promise<StoredDomain[]> {
  const rows = await tx
    .selectFrom('domains')
    .select('record')
    .where('due_at', '<=', now)
    .orderBy('due_at')
    .limit(limit)
    .execute()
  return domainRecord.all(rows)
}

/** Changes the domain as it is now; null if it is gone. */
export async function changeDomain(
  tx: Tx,
  domain: string,
  change: (current: StoredDomain) => StoredDomain,
): Promise<StoredDomain | null> {
  const current = await findDomain(tx, domain)
  if (!current) return null
  const next = change(current)
  await saveDomain(tx, next)
  return next
}
