import type { Migration } from './migration.ts'

/** The kind and the limits of a token (create-user-token); null: a person's, without limits. */
export const tokenAccess: Migration = {
  name: 'token access',
  statements: ['alter table tokens add column access text'],
}
