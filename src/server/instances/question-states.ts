import { type Clock, timestamp } from '../../clock.ts'
import { createQuestionStates, type QuestionStates } from '../../mcp/policy/questions.ts'
import type { Db } from '../../store/db.ts'
import { spendQuestionState } from '../../store/repositories/answered-questions.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'

/** States that every instance of the installation reads, and only one redeems: sealed with the data key, spent in the store. */
export function sharedQuestionStates({
  db,
  clock,
  secrets,
}: {
  db: Db
  clock: Clock
  secrets: SecretBox
}): QuestionStates {
  return createQuestionStates({
    box: secrets,
    clock,
    spend: (stateId, expiresAtMs) =>
      db.write((tx) => spendQuestionState(tx, stateId, timestamp(expiresAtMs))),
  })
}
