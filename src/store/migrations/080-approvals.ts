import type { Migration } from './migration.ts'

/**
 * Writes that wait for the decision of a person. `sealed` holds the calls with their secrets, empty once they have run
 * or can run no more. Uploads that a waiting approval names are kept until `kept_until`.
 */
export const approvals: Migration = {
  name: 'approvals',
  statements: [
    `create table approvals (approval_id text primary key, account_id text not null, requester text not null,
       request_hash text not null, status text not null, expires_at text not null, created_at text not null,
       revision integer not null, sealed text not null, record text not null)`,
    'create index approvals_account on approvals (account_id, created_at)',
    `create index approvals_request on approvals (requester, request_hash) where status = 'pending'`,
    'alter table uploads add column kept_until text',
    'alter table audit_log add column approval_id text',
  ],
}
