import type { Migration } from './migration.ts'

/** Besides its region: where an environment that moves serves, or has left a volume. */
export const otherRegion: Migration = {
  name: 'other region',
  statements: [
    'alter table app_envs add column other_region text',
    'create index app_envs_other_region on app_envs (other_region) where other_region is not null',
  ],
}
