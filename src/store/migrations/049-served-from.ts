import type { Migration } from './migration.ts'

/** While an environment moves and serves: the region where it does. */
export const servedFrom: Migration = {
  name: 'served from',
  statements: [
    'alter table app_envs add column served_from text',
    "update app_envs set served_from = json_extract(record, '$.servedFrom') where other_region is not null",
  ],
}
