import { afterAll, beforeAll, expect, it } from 'vitest'
import { sharedQuestionStates } from '../../../src/server/instances/question-states.ts'
import { forgetAnsweredQuestionsBefore } from '../../../src/store/repositories/answered-questions.ts'
import { TestPlatform } from '../../../testkit/platform/test-platform.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await TestPlatform.start({ reconciles: false })
})
afterAll(() => platform.close())

const subject = { token: 'lsu_a', tool: 'delete-app-env', args: { envName: 'shop' } }

it('an answer counts once on all instances that share the store, whichever gets it', async () => {
  const instances = Array.from({ length: 4 }, () => sharedQuestionStates(platform))
  const state = instances[0]!.issue('Delete shop?', subject)
  expect(state).not.toContain('shop')
  const outcomes = await Promise.allSettled(instances.map((one) => one.redeem(state, subject)))
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  await expect(instances[1]!.redeem(state, { ...subject, token: 'lsu_b' })).rejects.toThrow(
    'Invalid or expired',
  )
  const rows = () => platform.db.read((tx) => tx.selectFrom('answered_questions').selectAll().execute())
  expect(await rows()).toHaveLength(1)
  await platform.db.write((tx) => forgetAnsweredQuestionsBefore(tx, '2999-01-01T00:00:00.000Z'))
  expect(await rows()).toEqual([])
})
