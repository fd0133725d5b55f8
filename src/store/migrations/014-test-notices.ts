import type { Migration } from './migration.ts'

export const testNotices: Migration = {
  name: 'test notices',
  statements: ['create index notices_account on notices (account_id, event, created_at)'],
}
