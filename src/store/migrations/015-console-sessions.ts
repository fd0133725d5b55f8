import type { Migration } from './migration.ts'

/** Signed-in browsers and one-time sign-in links; each belongs to a user token and ends with it. */
export const consoleSessions: Migration = {
  name: 'console sessions',
  statements: [
    `create table console_sessions (session_hash text primary key, token_id text not null, user_id text not null,
       created_at text not null, used_at text not null, expires_at text not null)`,
    'create index console_sessions_user on console_sessions (user_id)',
    'create index console_sessions_expiry on console_sessions (expires_at)',
    `create table console_links (code_hash text primary key, token_id text not null, user_id text not null,
       expires_at text not null)`,
    'create index console_links_user on console_links (user_id)',
    'create index console_links_expiry on console_links (expires_at)',
  ],
}
