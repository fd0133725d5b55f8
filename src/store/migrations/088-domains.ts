import type { Migration } from './migration.ts'

/** Domains of environments. `record` holds the certificate with its sealed key; `due_at`: when it is looked at next. */
export const domains: Migration = {
  name: 'domains',
  statements: [
    `create table domains (domain_id text primary key, domain text not null, app_env_id text not null,
       account_id text not null, has_certificate integer not null, redirect integer not null, hsts integer not null,
       due_at text not null, created_at text not null,
       revision integer not null, record text not null)`,
    'create unique index domains_domain on domains (domain)',
    'create index domains_app_env on domains (app_env_id, created_at)',
    'create index domains_due on domains (due_at)',
    'create table acme_accounts (directory_url text primary key, created_at text not null, record text not null)',
    `create table acme_challenges (domain text not null, token text not null, created_at text not null,
       record text not null, primary key (domain, token))`,
  ],
}
