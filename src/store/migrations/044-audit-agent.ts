import type { Migration } from './migration.ts'

/** Which agent made the call of an audit entry, and which entry an undo undid; unknown for entries of an older version. */
export const auditAgent: Migration = {
  name: 'audit agent',
  statements: [
    'alter table audit_log add column agent text',
    'alter table audit_log add column undid text',
    'create index audit_log_agent on audit_log (account_id, agent, seq) where agent is not null',
  ],
}
