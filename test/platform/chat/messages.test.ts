import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { ChatOutboxWorker } from '../../../src/chat/outbox-worker.ts'
import { alertNotification, episodeIdOf } from '../../../src/domain/alerts/notification.ts'
import { findAlert } from '../../../src/store/repositories/alerts.ts'
import { wantAlertMessages } from '../../../src/store/repositories/chat-messages.ts'
import { ChatFixture } from '../../../testkit/chat/chat-fixture.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'

const clock = new TestClock()
const minuteMs = 60_000
let chat: ChatFixture
let outbox: ChatOutboxWorker
let alertId: string
let envName: string
let episode = 0
beforeAll(async () => {
  chat = await ChatFixture.start({ clock, publicUrl: 'https://longshore.example.com' })
  const { platform } = chat
  const { appEnvId } = await platform.makeEnvironment()
  const { token } = platform.admin
  envName = (await platform.request('GET', '/app-env', { token, input: { appEnvId } })).json.cliEnvName
  const alert = {
    name: 'Slow <checkout>',
    metric: 'cpu_percent',
    operator: 'gt',
    threshold: 80,
    duration: '1m',
  }
  const input = { appEnvId, ...alert, contactPointIds: [] }
  alertId = (await platform.request('POST', '/app-env/alert', { token, input })).json.alert.alertId
  outbox = platform.chat.outbox(platform.db)
})
beforeEach(() => {
  chat.slack.messages.length = 0
  episode += 1
})
afterAll(async () => {
  await outbox.stop()
  await chat.close()
})

async function pass(): Promise<void> {
  outbox.wake()
  await outbox.settled()
}

/** Twice: a reply is due once its message exists. */
async function passes(): Promise<void> {
  await pass()
  await pass()
}

async function tell(event: 'firing' | 'resolved', of = episode): Promise<void> {
  await chat.platform.db.write(async (tx) => {
    const alert = (await findAlert(tx, alertId))!
    const isFiring = event === 'firing'
    const notification = alertNotification({
      ...{
        alert,
        event,
        eventId: `evt_${of}_${event}`,
        episodeId: episodeIdOf(alertId, of),
        appEnvName: envName,
      },
      ...{ value: isFiring ? 93.5 : 12, state: isFiring ? 'Firing' : 'Normal', previousState: 'Normal' },
      ...{ startedAt: chat.platform.now, url: `https://longshore.example.com/console/alerts/${alertId}` },
      ...{ flapping: false, endedBy: isFiring ? null : 'recovered' },
    } as Parameters<typeof alertNotification>[0])
    await wantAlertMessages(tx, notification, clock.wallMs())
  })
}

const waiting = async () => {
  const { token } = chat.platform.admin
  const input = { accountId: chat.platform.accountId }
  const { json } = await chat.platform.request('GET', '/chat-connections', { token, input })
  return json.connections[0]
}

it('an alert is one message that follows its state, with the diagnosis in its thread', async () => {
  await tell('firing')
  await passes()
  const [message, reply, ...more] = chat.slack.messages
  expect(more).toEqual([])
  expect(message!.text).toContain(`FIRING: Slow &lt;checkout&gt; (${envName})`)
  for (const fact of [
    'above 80',
    'The value is 93.5',
    envName,
    'https://longshore.example.com/console/alerts/',
  ])
    expect(message!.text).toContain(fact)
  expect(reply).toMatchObject({ threadTs: message!.ts, text: expect.stringContaining('Diagnosis') })
  await tell('resolved')
  await passes()
  expect(chat.slack.messages).toHaveLength(2)
  expect(message!.history.map((text) => text.split(':')[0])).toEqual(['FIRING', 'RESOLVED'])
})

it('after an hour without the chat every episode is there once, in its last state', async () => {
  chat.slack.away = true
  const first = episode
  for (let one = 0; one < 5; one += 1) {
    await tell('firing', first + one)
    // Messages of the same millisecond have no order.
    await clock.advance(1)
  }
  for (let minute = 0; minute < 60; minute += 1) {
    await pass()
    await clock.advance(minuteMs)
  }
  for (let one = 0; one < 3; one += 1) await tell('resolved', first + one)
  episode = first + 5
  expect(await waiting()).toMatchObject({ waiting: 10, problem: 'the receiver broke the connection' })
  chat.slack.away = false
  for (let minute = 0; minute < 15; minute += 1) {
    await pass()
    await clock.advance(minuteMs)
  }
  const alerts = chat.slack.messages.filter(({ threadTs }) => threadTs === null)
  const states = alerts.map(({ text }) => text.split(':')[0])
  expect(states).toEqual(['RESOLVED', 'RESOLVED', 'RESOLVED', 'FIRING', 'FIRING'])
  expect(chat.slack.messages).toHaveLength(10)
  expect(await waiting()).toMatchObject({ waiting: 0, problem: null })
})

it('a chat that limits the rate is left alone for as long as it wants', async () => {
  chat.slack.limited = 1
  chat.slack.retryAfterSeconds = 30
  await tell('firing')
  await pass()
  const calls = () => chat.slack.calls.length
  const before = calls()
  await clock.advance(29_000)
  await pass()
  expect([calls(), chat.slack.messages.length]).toEqual([before, 0])
  expect((await waiting()).problem).toBe('the chat limits the rate of messages')
  await clock.advance(2_000)
  await passes()
  expect(chat.slack.messages).toHaveLength(2)
})

it('a message that was deleted in the chat is posted again', async () => {
  await tell('firing')
  await passes()
  chat.slack.messages.length = 0
  await tell('resolved')
  await passes()
  expect(chat.slack.messages.map(({ text }) => text.split(':')[0])).toEqual(['RESOLVED'])
})

it('a crash between the post and its record repeats it, and never shows an older state', async () => {
  await tell('firing')
  await pass()
  const [message] = chat.slack.messages
  await chat.platform.db.write((tx) =>
    tx
      .updateTable('chat_messages')
      .set({ sent_version: 0, ts: null })
      .where('subject', '=', `alert:${episodeIdOf(alertId, episode)}`)
      .execute(),
  )
  await tell('resolved')
  await passes()
  const [first, second] = chat.slack.messages.filter(({ threadTs }) => threadTs === null)
  expect(first).toBe(message)
  expect(second!.history.map((text) => text.split(':')[0])).toEqual(['RESOLVED'])
})
