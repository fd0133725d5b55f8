import type { Migration } from './migration.ts'

/** Tables, columns and record fields take the names that the code uses. */
export const standardTerms: Migration = {
  name: 'standard terms',
  statements: [
    'alter table journal rename to audit_log',
    'alter table journal_heads rename to audit_heads',
    'alter table notices rename to notifications',
    'alter table notifications rename column notice_id to notification_id',
    'alter table pods rename column wish to desired_state',
    // A quote inside a tenant's text is stored escaped, so only the field itself matches.
    `update app_envs set record = replace(record, '"wish":', '"desiredState":')`,
    `update pods set record = replace(record, '"wish":', '"desiredState":')`,
  ],
}
