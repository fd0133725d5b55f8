import type { Migration } from './migration.ts'

/** Several control planes on one store: who they are, which work each does, and whose machine runs what. */
export const instances: Migration = {
  name: 'instances',
  statements: [
    'create table instances (node text primary key, instance_id text not null, place text not null, record text not null, started_ms integer not null, seen_ms integer not null)',
    'create table leases (name text primary key, instance_id text not null, token integer not null, since_ms integer not null)',
    "alter table app_envs add column region text not null default ''",
    "update app_envs set region = json_extract(record, '$.region')",
    'create index app_envs_region on app_envs (region)',
    'alter table container_runs add column node text',
  ],
}
