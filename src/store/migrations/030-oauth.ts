import type { Migration } from './migration.ts'

/**
 * A grant is a row of `tokens` that no request can present, because its `hash` is no hash; what a client presents is in
 * `oauth_secrets`. The row in `oauth_grants` stays after the grant ended, so that the audit log still names the client.
 */
export const oauth: Migration = {
  name: 'oauth',
  statements: [
    `create table oauth_clients (client_id text primary key, record text not null, created_at text not null,
       used_at text)`,
    'create index oauth_clients_created on oauth_clients (created_at)',
    `create table oauth_grants (token_id text primary key, user_id text not null, client_id text not null,
       record text not null, subject text unique, ended_at text)`,
    `create table oauth_secrets (hash text primary key, kind text not null, token_id text not null,
       record text not null, expires_at text not null, used_at text)`,
    'create index oauth_secrets_token on oauth_secrets (token_id)',
    'create index oauth_secrets_expiry on oauth_secrets (expires_at)',
  ],
}
