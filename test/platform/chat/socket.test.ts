import { afterAll, beforeAll, expect, it } from 'vitest'
import type { ChatSockets } from '../../../src/chat/sockets.ts'
import { ChatFixture } from '../../../testkit/chat/chat-fixture.ts'
import { buttonsOf } from '../../../testkit/chat/fake-slack.ts'
import { until } from '../../../testkit/until.ts'

let chat: ChatFixture
let sockets: ChatSockets
beforeAll(async () => {
  chat = await ChatFixture.start()
  const { platform, slack } = chat
  const config = { appToken: slack.appToken, botToken: slack.botToken }
  const input = { accountId: platform.accountId, name: 'Socket', kind: 'slack-socket', config }
  const made = await platform.request('POST', '/chat-connection', { token: platform.admin.token, input })
  chat.connectionId = made.json.connection.connectionId
  await chat.map('UADMIN', platform.admin)
  sockets = platform.chat.sockets(platform.db)
  sockets.start()
  await until(() => slack.openSockets === 1, 'the socket')
})
afterAll(async () => {
  await sockets.stop()
  await until(() => chat.slack.openSockets === 0, 'the end of the sockets')
  await chat.close()
})

const answers = async (id: string) => {
  await until(() => chat.slack.responses.get(id) !== undefined, 'the answer')
  return chat.slack.responses.get(id)!
}

it('takes commands and clicks over Socket Mode, each once, and answers at their addresses', async () => {
  const { slack, platform } = chat
  const { appEnvId } = await platform.makeEnvironment()
  const { id, form } = slack.command('UADMIN', `scale ${appEnvId} 4`)
  await slack.deliver('slash_commands', form)
  const [shown] = await answers(id)
  expect(shown!.text).toMatch(/^This would:/)
  // A request that was not acknowledged in time comes again.
  await slack.deliver('slash_commands', form)
  const click = slack.click('UADMIN', buttonsOf(shown!)[0]!)
  await slack.deliver('interactive', click.payload)
  await answers(click.id)
  await platform.chat.receiver.stop()
  expect(slack.responses.get(id)).toHaveLength(1)
  const { json } = await platform.request('GET', '/app-env', {
    token: platform.admin.token,
    input: { appEnvId },
  })
  expect(json.containers).toBe(4)
})

it('opens another socket when Slack ends one, and none for a connection that was deleted', async () => {
  const { slack, platform, connectionId } = chat
  slack.dropSockets()
  await until(() => slack.openSockets === 0, 'the end of the socket')
  await until(() => slack.openSockets === 1, 'another socket')
  const { id, form } = slack.command('UADMIN', 'help')
  await slack.deliver('slash_commands', form)
  expect((await answers(id))[0]!.text).toMatch(/^Commands/)
  await platform.request('DELETE', '/chat-connection', {
    token: platform.admin.token,
    input: { connectionId },
  })
  await until(() => slack.openSockets === 0, 'the end of the socket')
})

it('keeps the socket of a connection whose token was corrected right after a failed attempt', async () => {
  const { slack, platform } = chat
  const token = platform.admin.token
  const config = { appToken: 'xapp-1-wrong', botToken: slack.botToken }
  const input = { accountId: platform.accountId, name: 'Corrected', kind: 'slack-socket', config }
  const made = await platform.request('POST', '/chat-connection', { token, input })
  const { connectionId } = made.json.connection
  const refusals = () => slack.calls.filter((call) => call === 'apps.connections.open').length
  const before = refusals()
  await until(() => refusals() > before, 'the refusal')
  const corrected = { connectionId, config: { appToken: slack.appToken } }
  expect((await platform.request('PATCH', '/chat-connection', { token, input: corrected })).status).toBe(200)
  await until(() => slack.openSockets === 1, 'the socket')
  // Longer than the wait after the failed attempt.
  await new Promise((resolve) => setTimeout(resolve, 4_500))
  expect(slack.openSockets).toBe(1)
})
