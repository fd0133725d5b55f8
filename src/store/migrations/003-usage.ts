import type { Migration } from './migration.ts'

/** Billing (docs/interface.md#billing): start and end of each container, and hourly sums of old ones. */
export const usage: Migration = {
  name: 'usage',
  statements: [
    `create table container_runs (container text primary key, app_env_id text not null, account_id text not null,
       z_clouds integer not null, rate_multiplier integer not null, started_ms bigint not null, finished_ms bigint)`,
    'create index container_runs_env on container_runs (app_env_id, finished_ms)',
    'create index container_runs_finished on container_runs (finished_ms)',
    `create table usage_hours (app_env_id text not null, hour_ms bigint not null, account_id text not null,
       container_seconds bigint not null, z_cloud_seconds bigint not null, billed_z_cloud_seconds bigint not null,
       primary key (app_env_id, hour_ms))`,
    'create index usage_hours_account on usage_hours (account_id, hour_ms)',
  ],
}
