import type { Migration } from './migration.ts'

/** Last uses have a table of their own, so that storing them never conflicts with requests, which read `tokens`. */
export const tokenExpiry: Migration = {
  name: 'token expiry',
  statements: [
    'alter table tokens add column expires_at text',
    'create table token_uses (token_id text primary key, used_at text not null)',
  ],
}
