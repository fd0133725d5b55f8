import type { Migration } from './migration.ts'

/** Tokens have names and may be read-only; audit entries have an outcome and are chained by hashes. */
export const access: Migration = {
  name: 'access',
  statements: [
    'alter table tokens add column token_id text',
    "alter table tokens add column name text not null default ''",
    'alter table tokens add column read_only integer not null default 0',
    "update tokens set token_id = 'tok_' || substr(hash, 1, 20)",
    'create unique index tokens_id on tokens (token_id)',
    "alter table journal add column outcome text not null default 'done'",
    "alter table journal add column previous_hash text not null default ''",
    "alter table journal add column hash text not null default ''",
    'create index journal_object on journal (object_id, seq)',
  ],
}
