import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { ChatOutboxWorker } from '../../../src/chat/outbox-worker.ts'
import { ChatFixture } from '../../../testkit/chat/chat-fixture.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import type { TestUser } from '../../../testkit/platform/test-platform.ts'

const clock = new TestClock()
let chat: ChatFixture
let outbox: ChatOutboxWorker
let appEnvId: string
let ann: TestUser
beforeAll(async () => {
  chat = await ChatFixture.start({ clock, publicUrl: 'https://longshore.example.com' })
  appEnvId = (await chat.platform.makeEnvironment()).appEnvId
  await chat.map('UADMIN', chat.platform.admin)
  ann = await chat.platform.makeUser()
  await chat.map('UANN', ann)
  outbox = chat.platform.chat.outbox(chat.platform.db)
})
beforeEach(() => {
  chat.slack.messages.length = 0
})
afterAll(async () => {
  await outbox.stop()
  await chat.close()
})

async function pass(): Promise<void> {
  outbox.wake()
  await outbox.settled()
}

async function propose(value: string): Promise<string> {
  const set = [{ name: 'COLOR', value, isSecret: false }]
  const steps = [{ operation: 'update-app-env-variables', input: { appEnvId, set } }]
  const input = { accountId: chat.platform.accountId, title: `Color ${value}`, reason: 'Why not.', steps }
  const { json } = await chat.platform.request('POST', '/plan', { token: chat.platform.admin.token, input })
  return json.approvalId
}

const approval = async (approvalId: string) =>
  (
    await chat.platform.request('GET', '/approval', {
      token: chat.platform.admin.token,
      input: { approvalId },
    })
  ).json

it('an approval is one message with buttons, which follows it; two people who click at once decide once', async () => {
  const approvalId = await propose('red')
  await pass()
  const [message, ...more] = chat.slack.messages
  expect(more).toEqual([])
  expect(message!.text).toContain('Approval wanted: Color red')
  expect(message!.text).toContain(`https://longshore.example.com/console/approvals/${approvalId}`)
  const [approve] = message!.buttons
  expect(message!.buttons.map(({ action_id: one }) => one)).toEqual(['approve', 'deny'])

  const both = await Promise.all([chat.click('UADMIN', approve), chat.click('UANN', approve)])
  expect(both.map(({ said }) => said).sort()).toEqual([
    'Approved and done: 1 step.',
    expect.stringMatching(/^Not done\nThe approval is executed/),
  ])
  const { status, decisions, results } = await approval(approvalId)
  expect([status, decisions.length, results.length]).toEqual(['executed', 1, 1])
  expect(decisions[0].surface).toBe('chat')
  await pass()
  expect(message!.history).toHaveLength(2)
  expect(message!.text).toContain('Approved and done: Color red')
  expect(message!.buttons).toEqual([])
})

it('denying asks for a reason in a form, which the requester reads', async () => {
  const approvalId = await propose('blue')
  await pass()
  const [, deny] = chat.slack.messages[0]!.buttons
  const { payload } = chat.slack.click('UANN', deny!)
  await chat.send({ payload: JSON.stringify(payload) })
  await expect.poll(() => chat.slack.views.length).toBe(1)
  const view = chat.slack.views.pop()!
  const submitted = chat.slack.submission('UANN', view, 'Not on a Friday.')
  expect((await chat.send({ payload: JSON.stringify(submitted.payload) })).status).toBe(200)
  await expect.poll(async () => (await approval(approvalId)).status).toBe('denied')
  expect((await approval(approvalId)).decisions[0]).toMatchObject({
    userId: ann.userId,
    comment: 'Not on a Friday.',
  })
  await pass()
  expect(chat.slack.messages[0]!.text).toContain('Denied by User')
})

it('a command shows, approves and denies as well', async () => {
  const approvalId = await propose('green')
  expect((await chat.say('UANN', 'approve')).said).toContain(approvalId)
  const shown = await chat.say('UANN', `approve ${approvalId}`)
  expect(shown.buttons).toHaveLength(2)
  expect((await chat.say('UANN', `deny ${approvalId}`)).said).toContain('Name the approval and a reason')
  expect((await chat.say('UANN', `deny ${approvalId} too green`)).said).toBe('Denied; nothing was changed.')
  expect((await chat.click('UANN', shown.buttons[0])).said).toContain('The approval is denied')
})

it('what was shown is what runs: a stale approval is refused and its message says so, and so does an expired one', async () => {
  const stale = await propose('pink')
  await pass()
  const [approve] = chat.slack.messages[0]!.buttons
  const { token } = chat.platform.admin
  await chat.platform.request('PATCH', '/app-env/containers', { token, input: { appEnvId, containers: 2 } })
  expect((await chat.click('UADMIN', approve)).said).toContain('Approval is stale')
  await pass()
  expect(chat.slack.messages[0]!.text).toContain('Stale')
  expect((await approval(stale)).status).toBe('stale')

  await propose('gray')
  await pass()
  await clock.advance(25 * 3_600_000)
  await pass()
  expect(chat.slack.messages[1]!.text).toContain('Expired; nothing was changed')
  expect(chat.slack.messages[1]!.buttons).toEqual([])
})

it('a policy that asks answers a confirmed command with the approval', async () => {
  const { accountId, admin } = chat.platform
  const rule = { id: 'ask-scale', effect: 'ask', on: { operations: ['scale-*'] } }
  const input = { accountId, mode: 'enforce', rules: [rule] }
  await chat.platform.request('PUT', '/policy', { token: admin.token, input })
  const question = await chat.say('UADMIN', `scale ${appEnvId} 5`)
  expect(question.said).toContain('The policy asks people first (rule ask-scale)')
  const waiting = await chat.click('UADMIN', question.buttons[0])
  expect(waiting.said).toMatch(/People must approve this first.*\n.*\/console\/approvals\/apv_/)
})
