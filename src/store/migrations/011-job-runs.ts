import type { Migration } from './migration.ts'

export const jobRuns: Migration = {
  name: 'job runs',
  statements: [
    `create table job_runs (job_run_id text primary key, app_env_id text not null, number integer not null,
       status text not null, record text not null, created_at text not null, unique (app_env_id, number))`,
    'create index job_runs_status on job_runs (status)',
    `create table job_attempts (attempt_id text primary key, job_run_id text not null, app_env_id text not null,
       number integer not null, state text not null, record text not null, created_at text not null,
       unique (job_run_id, number))`,
    'create index job_attempts_state on job_attempts (state)',
    'create index job_attempts_env on job_attempts (app_env_id)',
  ],
}
