import type { Migration } from './migration.ts'

/**
 * Links with which one person decides over one approval, once, as it was shown. `sealed` holds the key that signs the link,
 * `mail` whether it was sent.
 */
export const approvalLinks: Migration = {
  name: 'approval links',
  statements: [
    `create table approval_links (link_id text primary key, approval_id text not null, user_id text not null,
       review_digest text not null, expires_at text not null, created_at text not null, sealed text not null,
       mail text not null, attempts integer not null, next_at text not null, used_at text)`,
    'create index approval_links_approval on approval_links (approval_id)',
    'create index approval_links_user on approval_links (user_id, created_at)',
    `create index approval_links_due on approval_links (next_at) where mail = 'due'`,
  ],
}
