import type { Migration } from './migration.ts'

/** Question states that were redeemed, until they expire: none counts twice, whichever instance gets it. */
export const answeredQuestions: Migration = {
  name: 'answered questions',
  statements: [
    'create table answered_questions (state_id text primary key, expires_at text not null)',
    'create index answered_questions_expiry on answered_questions (expires_at)',
  ],
}
