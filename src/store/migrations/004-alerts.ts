import type { Migration } from './migration.ts'

/** Contact points, alerts with their states, and the outbox of notifications. */
export const alerts: Migration = {
  name: 'alerts',
  statements: [
    `create table contact_points (contact_point_id text primary key, account_id text not null, record text not null,
       revision integer not null, created_at text not null)`,
    'create index contact_points_account on contact_points (account_id, created_at, contact_point_id)',
    `create table alerts (alert_id text primary key, app_env_id text not null, account_id text not null,
       enabled integer not null, record text not null, revision integer not null, created_at text not null)`,
    'create index alerts_env on alerts (app_env_id, created_at, alert_id)',
    `create table alert_contact_points (alert_id text not null, app_env_id text not null,
       contact_point_id text not null, primary key (alert_id, contact_point_id))`,
    'create index alert_contact_points_point on alert_contact_points (contact_point_id)',
    'create index alert_contact_points_env on alert_contact_points (app_env_id)',
    `create table alert_states (alert_id text primary key, app_env_id text not null, state text not null,
       held_ms bigint not null, episode integer not null, is_open integer not null, started_at text,
       checked_at text, in_cycle integer not null, version integer not null)`,
    'create index alert_states_env on alert_states (app_env_id)',
    `create table alert_history (alert_id text not null, version integer not null, app_env_id text not null,
       at text not null, from_state text not null, to_state text not null, value double precision,
       primary key (alert_id, version))`,
    'create index alert_history_env on alert_history (app_env_id)',
    `create table notices (notice_id text primary key, event_id text not null, alert_id text, app_env_id text,
       account_id text not null, contact_point_id text not null, event text not null, ordinal integer not null,
       dedup_key text not null, body text not null, status text not null, attempts integer not null,
       spent_ms bigint not null, next_at_ms bigint not null, last_at text, reason text, created_at text not null)`,
    'create index notices_due on notices (status, contact_point_id, next_at_ms)',
    'create index notices_alert on notices (alert_id, contact_point_id, ordinal)',
    'create index notices_env on notices (app_env_id)',
  ],
}
