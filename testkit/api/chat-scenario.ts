import { timestamp } from '../../src/clock.ts'
import { saveChatLink } from '../../src/store/repositories/chat-users.ts'
import type { TestPlatform } from '../platform/test-platform.ts'
import type { Call } from './scenario-call.ts'

/** A chat that a person is connected to. */
export async function chatScenario(platform: TestPlatform, call: Call): Promise<void> {
  const { accountId } = platform
  const chat = { accountId, name: 'Team chat', kind: 'slack-http', channel: 'C012AB3CD' }
  const config = { signingSecret: '8f742231b10e8888abcd99yyyzzz85a5', botToken: 'xoxb-1-2-3' }
  const { connection } = await call('create-chat-connection', { ...chat, config })
  const { connectionId } = connection
  await call('update-chat-connection', { connectionId, name: 'Harbour chat' })
  await call('list-chat-connections', { accountId })
  const code = 'bG9uZ3Nob3Jl'
  const person = { connectionId, workspace: 'T012AB3CD', chatUser: 'U012AB3CD', chatName: 'ann' }
  const expiresAt = timestamp(platform.clock.wallMs() + 600_000)
  await platform.db.write((tx) => saveChatLink(tx, code, { ...person, expiresAt }))
  const { chatUserId } = await call('connect-chat-user', { code })
  await call('list-chat-users', { accountId })
  await call('remove-chat-user', { accountId, chatUserId })
  await call('delete-chat-connection', { connectionId })
}
