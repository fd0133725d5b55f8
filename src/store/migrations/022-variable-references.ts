import type { Migration } from './migration.ts'

/** Which environments take values of variables from which others. */
export const variableReferences: Migration = {
  name: 'variable references',
  statements: [
    'create table variable_references (app_env_id text not null, source_id text not null, primary key (app_env_id, source_id))',
    'create index variable_references_source on variable_references (source_id)',
  ],
}
