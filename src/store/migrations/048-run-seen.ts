import type { Migration } from './migration.ts'

/** When a run was last seen running while other containers of its machine could not be listed. */
export const runSeen: Migration = {
  name: 'run seen',
  statements: ['alter table container_runs add column seen_ms integer'],
}
