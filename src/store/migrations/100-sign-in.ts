import type { Migration } from './migration.ts'

/** Mailed sign-in links, how each session was opened, passkeys, identities of OpenID Connect, and challenges that were used. */
export const signIn: Migration = {
  name: 'sign-in of people',
  statements: [
    `create table sign_in_links (link_id text primary key, user_id text not null, code_hash text,
       created_at text not null, expires_at text not null, mail text not null, attempts integer not null,
       next_at text not null)`,
    'create index sign_in_links_user on sign_in_links (user_id, created_at)',
    'create index sign_in_links_code on sign_in_links (code_hash)',
    `create index sign_in_links_due on sign_in_links (next_at) where mail = 'due'`,
    'alter table console_sessions add column signed_in_by text',
    'alter table console_sessions add column proved_at text',
    'alter table console_sessions add column user_agent text',
    'alter table console_sessions add column client_address text',
    `create table passkeys (passkey_id text primary key, credential_id text not null unique, user_id text not null,
       record text not null, created_at text not null, used_at text)`,
    'create index passkeys_user on passkeys (user_id)',
    `create table identities (issuer text not null, subject text not null, user_id text not null,
       membership_id text, created_at text not null, primary key (issuer, subject))`,
    'create index identities_user on identities (user_id)',
    'create table spent_challenges (challenge_hash text primary key, expires_at text not null)',
    'create index spent_challenges_expiry on spent_challenges (expires_at)',
  ],
}
