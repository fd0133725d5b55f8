import { afterAll, beforeAll, expect, it } from 'vitest'
import { Secret } from '../../../src/log.ts'
import { findChatConnection } from '../../../src/store/repositories/chat-connections.ts'
import { resealEverything } from '../../../src/store/secrets/rotate.ts'
import { addDataKey, openSecretBox, parseMasterKey } from '../../../src/store/secrets/secret-box.ts'
import { ChatFixture } from '../../../testkit/chat/chat-fixture.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { until, untilRead } from '../../../testkit/until.ts'

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

it('an answer that takes longer than the chat waits follows at the address of the request', async () => {
  const clock = new TestClock()
  const slow = await ChatFixture.start({ clock }, { channel: '' })
  await slow.map('UADMIN', slow.platform.admin)
  const { runner } = slow.platform
  const run = runner.run
  let release = () => {}
  const gate = new Promise<void>((resolve) => {
    release = resolve
  })
  runner.run = async (call) => {
    await gate
    return run(call)
  }
  const { id, form } = slow.slack.command('UADMIN', 'alerts')
  const answered = slow.send(form)
  let isAnswered = false
  void answered.then(() => {
    isAnswered = true
  })
  await untilRead(
    async () => {
      await clock.advance(100)
      return isAnswered
    },
    (one) => one,
    'an answer',
  )
  expect((await answered).text).toContain('Working on it')
  expect(slow.slack.responses.get(id)).toBeUndefined()
  release()
  await until(() => slow.slack.responses.get(id), 'the late answer')
  expect(slow.slack.responses.get(id)![0]!.text).toContain('0 alerts')
  await slow.close()
})

it('the secrets of a chat are sealed with the new key of a rotation, and still check requests', async () => {
  const { db } = chat.platform
  const master = parseMasterKey(new Secret('11'.repeat(32)))
  const box = await openSecretBox(db, master, chat.platform.now)
  const before = await db.read((tx) => findChatConnection(tx, chat.connectionId))
  const [keyId] = await db.write((tx) => addDataKey(tx, master, chat.platform.now))
  await box.refresh()
  await resealEverything(db, box, keyId)
  const after = await db.read((tx) => findChatConnection(tx, chat.connectionId))
  for (const key of ['signingSecret', 'botToken'] as const) {
    expect(after!.secrets[key]).toContain(keyId)
    expect(box.open(after!.secrets[key]!, `${chat.connectionId}/${key}`)).toBe(
      box.open(before!.secrets[key]!, `${chat.connectionId}/${key}`),
    )
  }
})
