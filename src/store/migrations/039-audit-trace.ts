import type { Migration } from './migration.ts'

/** Which trace the call of an audit entry belongs to; unknown for entries of an older version. */
export const auditTrace: Migration = {
  name: 'audit trace',
  statements: [
    'alter table audit_log add column trace_id text',
    'create index audit_log_trace on audit_log (account_id, trace_id, seq) where trace_id is not null',
  ],
}
