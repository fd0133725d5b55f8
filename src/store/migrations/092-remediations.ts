import type { Migration } from './migration.ts'

/** Remediations and their runs: one an episode of the trigger. Audit entries name the run that they belong to. */
export const remediations: Migration = {
  name: 'remediations',
  statements: [
    `create table remediations (remediation_id text primary key, app_env_id text not null, account_id text not null,
       alert_id text, cause text, mode text not null, record text not null, revision integer not null,
       created_at text not null, cause_state text)`,
    'create index remediations_env on remediations (app_env_id, created_at)',
    'create index remediations_alert on remediations (alert_id)',
    `create table remediation_runs (run_id text primary key, remediation_id text not null, app_env_id text not null,
       episode text not null, status text not null, is_open integer not null, version integer not null,
       record text not null, started_at text not null, acted_at text, unique (remediation_id, episode))`,
    'create index remediation_runs_open on remediation_runs (started_at) where is_open = 1',
    'create index remediation_runs_list on remediation_runs (remediation_id, started_at)',
    'create index remediation_runs_episode on remediation_runs (episode)',
    'create index remediation_runs_env on remediation_runs (app_env_id, started_at)',
    'alter table audit_log add column remediation_run_id text',
    `create index audit_log_remediation_run on audit_log (remediation_run_id) where remediation_run_id is not null`,
  ],
}
