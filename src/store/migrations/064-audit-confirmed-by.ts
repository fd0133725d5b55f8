import type { Migration } from './migration.ts'

/** What answered the question before a destructive tool call: `host` or `model`; null: there was none. */
export const auditConfirmedBy: Migration = {
  name: 'audit confirmed by',
  statements: ['alter table audit_log add column confirmed_by text'],
}
