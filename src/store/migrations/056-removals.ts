import type { Migration } from './migration.ts'

/** What deleted objects have left outside the store and is still to be removed; an empty region stands for any. */
export const removals: Migration = {
  name: 'removals',
  statements: [
    'create table removals (kind text not null, subject text not null, region text not null, primary key (kind, subject, region))',
  ],
}
