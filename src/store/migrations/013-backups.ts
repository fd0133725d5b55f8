import type { Migration } from './migration.ts'

/** Backups survive the deletion of their environment. */
export const backups: Migration = {
  name: 'backups',
  statements: [
    `create table backups (backup_id text primary key, app_env_id text not null, account_id text not null,
       status text not null, record text not null, created_at text not null)`,
    'create index backups_account on backups (account_id, created_at, backup_id)',
    'create index backups_env on backups (app_env_id)',
    'create index backups_status on backups (status)',
    `create table restores (restore_id text primary key, backup_id text not null, app_env_id text not null,
       status text not null, record text not null, created_at text not null)`,
    'create index restores_backup on restores (backup_id, created_at)',
    'create index restores_env on restores (app_env_id)',
    'create index restores_status on restores (status)',
  ],
}
