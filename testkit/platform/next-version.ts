/** The program of a next version: this one with a further migration, as a release may bring. */
import { migrations } from '../../src/store/migrations/index.ts'
import type { Migration } from '../../src/store/migrations/migration.ts'

const further: Migration = {
  name: 'of the next version',
  statements: [
    "alter table app_envs add column later text not null default ''",
    'create table later (later_id text primary key)',
  ],
}
;(migrations as Migration[]).push(further)
await import('../../src/server/longshore.ts')
