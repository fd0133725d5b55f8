import type { Migration } from './migration.ts'

/** The impact of an audited write (null in older entries), and when an environment last answered a request. */
export const impact: Migration = {
  name: 'impact',
  statements: [
    'alter table audit_log add column impact text',
    'create table last_requests (app_env_id text primary key, at text not null)',
  ],
}
