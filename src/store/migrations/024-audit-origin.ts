import type { Migration } from './migration.ts'

/** Which token and which agent session made the call of an audit entry; unknown for entries of an older version. */
export const auditOrigin: Migration = {
  name: 'audit origin',
  statements: [
    'alter table audit_log add column token_id text',
    'alter table audit_log add column session_id text',
    'create index audit_log_token on audit_log (account_id, token_id, seq) where token_id is not null',
    'create index audit_log_session on audit_log (account_id, session_id, seq) where session_id is not null',
    'create index audit_log_principal on audit_log (account_id, principal, seq)',
  ],
}
