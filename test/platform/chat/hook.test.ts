import { afterAll, beforeAll, expect, it } from 'vitest'
import { ChatFixture } from '../../../testkit/chat/chat-fixture.ts'

let chat: ChatFixture
beforeAll(async () => {
  chat = await ChatFixture.start()
  await chat.map('UADMIN', chat.platform.admin)
})
afterAll(() => chat.close())

const minuteMs = 60_000

it('chat-request forged, old, early, foreign and replayed requests get the same 401 and do nothing', async () => {
  const other = await chat.platform.request('POST', '/chat-connection', {
    token: chat.platform.admin.token,
    input: {
      ...{ accountId: chat.platform.accountId, name: 'Other', kind: 'slack-http' },
      config: { signingSecret: 'another-secret' },
    },
  })
  const nowMs = chat.platform.clock.wallMs()
  const command = () => chat.slack.command('UADMIN', 'help').form
  const good = command()
  expect((await chat.send(good, { atMs: nowMs })).status).toBe(200)
  const refused = [
    await chat.send(command(), { secret: 'guessed' }),
    await chat.send(command(), { signature: 'v0=00' }),
    await chat.send(command(), { signature: '' }),
    await chat.send(command(), { atMs: nowMs - 6 * minuteMs }),
    await chat.send(command(), { atMs: nowMs + 6 * minuteMs }),
    await chat.send(command(), { connectionId: 'cht_none' }),
    await chat.send(command(), { connectionId: other.json.connection.connectionId }),
    // The same bytes again, and the same request with a signature of its own.
    await chat.send(good, { atMs: nowMs }),
    await chat.send(good, { atMs: nowMs - 1_000 }),
  ]
  expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 401))
  expect(new Set(refused.map(({ text }) => text)).size).toBe(1)
})

it('a body that is too large or no request of a chat is refused', async () => {
  expect((await chat.send({ text: 'x'.repeat(300_000) })).status).toBe(413)
  expect((await chat.send({ text: 'x' })).status).toBe(400)
  expect((await chat.send({ payload: '{"type":"shortcut"}' })).status).toBe(400)
  expect((await chat.send({ payload: '[' })).status).toBe(400)
})

it('answers go only to addresses that webhooks may use', async () => {
  const strict = await ChatFixture.start({ allowPrivate: false }, { channel: '' })
  await strict.map('UADMIN', strict.platform.admin)
  const { id, payload } = strict.slack.click('UADMIN', { action_id: 'cancel', value: 'chq_none' })
  expect((await strict.send({ payload: JSON.stringify(payload) })).status).toBe(200)
  await strict.platform.chat.receiver.stop()
  expect(strict.slack.responses.get(id)).toBeUndefined()
  await strict.close()
})
