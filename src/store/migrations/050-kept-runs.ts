import type { Migration } from './migration.ts'

/** Which run has yet to give the answer of an idempotency key; null once it has. */
export const keptRuns: Migration = {
  name: 'kept runs',
  statements: ['alter table idempotency add column run_id text'],
}
