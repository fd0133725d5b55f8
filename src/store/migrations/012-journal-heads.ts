import type { Migration } from './migration.ts'

export const journalHeads: Migration = {
  name: 'journal heads',
  statements: ['create table journal_heads (account_id text primary key, record text not null)'],
}
