import type { Migration } from './migration.ts'

/**
 * The policy of each account, and the used units of its budgets. The revision in `accounts`, which every write reads, says
 * whether there is one (0: none) and whether a compiled copy is current.
 */
export const policies: Migration = {
  name: 'policies',
  statements: [
    'create table policies (account_id text primary key, revision integer not null, record text not null)',
    'alter table accounts add column policy_revision integer not null default 0',
    `create table budget_usage (account_id text not null, key text not null, record text not null,
      primary key (account_id, key))`,
    'alter table audit_log add column decision text',
  ],
}
