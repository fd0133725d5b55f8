import type { Migration } from './migration.ts'

/** How many containers of an environment should run and were ready: a row for each change. */
export const containerCounts: Migration = {
  name: 'container counts',
  statements: [
    `create table container_counts (app_env_id text not null, at_ms bigint not null, desired integer not null,
       ready integer not null, primary key (app_env_id, at_ms))`,
  ],
}
