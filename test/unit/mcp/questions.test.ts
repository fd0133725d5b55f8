import { beforeEach, describe, expect, it } from 'vitest'
import { processQuestionStates, type QuestionStates } from '../../../src/mcp/policy/questions.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'

const subject = {
  token: 'lsu_a',
  tool: 'delete-app-env',
  args: { envName: 'shop', nested: { a: 1, b: [2] } },
}
let clock: TestClock
let states: QuestionStates
beforeEach(() => {
  clock = new TestClock()
  states = processQuestionStates(clock)
})

describe('the state between a question and its answer', () => {
  it('counts once, for its question, whatever the order of the arguments', async () => {
    const state = states.issue('Delete shop?', subject)
    const args = { nested: { b: [2], a: 1 }, envName: 'shop' }
    const isAnswerTo = await states.redeem(state, { ...subject, args })
    expect(isAnswerTo('Delete shop?')).toBe(true)
    expect(isAnswerTo('Delete shop with 3 containers?')).toBe(false)
    await expect(states.redeem(state, subject)).rejects.toThrow('Invalid or expired requestState')
  })

  it.each([
    ['another caller', { token: 'lsu_b' }],
    ['no token', { token: null }],
    ['another tool', { tool: 'stop-app-env' }],
    ['other arguments', { args: { envName: 'shop', nested: { a: 1, b: [3] } } }],
    ['one argument less', { args: { envName: 'shop' } }],
  ])('does not count for %s, and stays usable for its own call', async (_name, other) => {
    const state = states.issue('Delete shop?', subject)
    await expect(states.redeem(state, { ...subject, ...other })).rejects.toThrow('Invalid or expired')
    await expect(states.redeem(state, subject)).resolves.toBeTypeOf('function')
  })

  it('expires after ten minutes', async () => {
    const state = states.issue('Delete shop?', subject)
    const later = states.issue('Delete shop?', subject)
    await clock.advance(10 * 60_000 - 1)
    await expect(states.redeem(state, subject)).resolves.toBeTypeOf('function')
    await clock.advance(1)
    await expect(states.redeem(later, subject)).rejects.toThrow('Invalid or expired')
  })

  it('is refused when a part of it was changed, and from another process', async () => {
    const state = states.issue('Delete shop?', subject)
    const [body = '', mac = ''] = state.split('.')
    const forged = JSON.parse(Buffer.from(body, 'base64url').toString())
    const other = Buffer.from(JSON.stringify({ ...forged, id: 'another' })).toString('base64url')
    for (const bad of ['', '.', 'x', body, `${body}.`, `${other}.${mac}`, `${body}.${mac.slice(0, -2)}`]) {
      await expect(states.redeem(bad, subject), bad).rejects.toThrow('Invalid or expired')
    }
    await expect(processQuestionStates(clock).redeem(state, subject)).rejects.toThrow('Invalid or expired')
  })
})
