import type { Migration } from './migration.ts'

/** Which agent works on an environment (claim-app-env). */
export const claims: Migration = {
  name: 'claims',
  statements: [
    'create table claims (app_env_id text primary key, claimed_until text not null, record text not null)',
  ],
}
