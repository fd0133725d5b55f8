import { timestamp } from '../clock.ts'
import { createQuestionStates, type QuestionStates } from '../mcp/policy/questions.ts'
import { spendQuestionState } from '../store/repositories/answered-questions.ts'
import type { Platform } from './platform.ts'

/** States that every instance of the installation reads, and only one redeems: sealed with the data key, spent in the store. */
export function sharedQuestionStates({
  db,
  clock,
  secrets,
}: Pick<Platform, 'db' | 'clock' | 'secrets'>): QuestionStates {
  return createQuestionStates({
    box: secrets,
    clock,
    spend: (stateId, expiresAtMs) =>
      db.write((tx) => spendQuestionState(tx, stateId, timestamp(expiresAtMs))),
  })
}
