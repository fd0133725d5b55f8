import type { Migration } from './migration.ts'

/** The address of the client of an audited call; null in older entries. */
export const auditClient: Migration = {
  name: 'audit-client',
  statements: ['alter table audit_log add column client_address text'],
}
