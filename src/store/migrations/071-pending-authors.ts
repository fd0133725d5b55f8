import type { Migration } from './migration.ts'

/** Who saved each path of an environment's settings last: whose change is pending. Unknown for what was saved before. */
export const pendingAuthors: Migration = {
  name: 'pending authors',
  statements: [
    `create table pending_authors (app_env_id text not null, path text not null, saved_by text, at text not null,
       primary key (app_env_id, path))`,
  ],
}
