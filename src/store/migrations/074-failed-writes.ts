import type { Migration } from './migration.ts'

/** Writes of agents that failed within the last minutes, for the loop breaker (docs/autonomy.md#loops). */
export const failedWrites: Migration = {
  name: 'failed writes',
  statements: [
    'create table failed_writes (failure_id text primary key, principal text not null, request text not null, at text not null, reason text not null)',
    'create index failed_writes_principal on failed_writes (principal, at)',
  ],
}
