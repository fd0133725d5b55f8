import type { Migration } from './migration.ts'

/**
 * How often an alert swung and how long it has been calm since; and contact points that were deleted while
 * notifications were on their way to them.
 */
export const alertFlapping: Migration = {
  name: 'alert flapping',
  statements: [
    'alter table alert_states add column flaps integer not null default 0',
    'alter table alert_states add column calm_ms bigint not null default 0',
    'alter table contact_points add column removed_at text',
  ],
}
