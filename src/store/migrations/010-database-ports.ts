import type { Migration } from './migration.ts'

export const databasePorts: Migration = {
  name: 'database-ports',
  statements: [
    'create table database_ports (port integer primary key, app_env_id text not null)',
    'create index database_ports_env on database_ports (app_env_id)',
  ],
}
