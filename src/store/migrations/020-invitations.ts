import type { Migration } from './migration.ts'

/** A membership with an invitation id is not active yet; older memberships are. */
export const invitations: Migration = {
  name: 'invitations',
  statements: [
    'alter table memberships add column invitation_id text',
    'alter table memberships add column invited_by text',
    'create unique index memberships_invitation on memberships (invitation_id)',
    'create index memberships_invited_by on memberships (invited_by)',
  ],
}
