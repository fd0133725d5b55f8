import type { Migration } from './migration.ts'

/** When an agent last needed more scopes than it has; null: never, or its client was sent to the person since. */
export const stepUp: Migration = {
  name: 'step up',
  statements: ['alter table oauth_grants add column step_up_at text'],
}
