import type { Migration } from './migration.ts'

/** One-time links to pages where a person enters a variable; each acts with the token that requested it. */
export const secretRequests: Migration = {
  name: 'secret requests',
  statements: [
    `create table secret_requests (code_hash text primary key, app_env_id text not null, variable text not null,
       token_id text not null, expires_at text not null)`,
    'create index secret_requests_env on secret_requests (app_env_id)',
    'create index secret_requests_expiry on secret_requests (expires_at)',
  ],
}
