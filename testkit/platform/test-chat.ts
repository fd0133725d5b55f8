import { type Chat, openChat } from '../../src/chat/open.ts'
import { describeEnvironment } from '../../src/operations/diagnosis/describe-environment.ts'
import { chatWords } from '../../src/server/chat.ts'
import type { TestPlatform } from './test-platform.ts'

/** The chats of a test platform. Tests start its outbox and sockets themselves. */
export function openTestChat(platform: TestPlatform, closers: (() => unknown)[]): Chat {
  const { db, clock, log, secrets, runner, options } = platform
  const { slackApiUrl = 'http://127.0.0.1:9', allowPrivate = true } = options
  const chat = openChat({
    ...{ db, clock, log, secrets, runner, words: chatWords, slackApiUrl, allowPrivate },
    publicUrl: () => options.publicUrl ?? platform.apiUrl,
    describe: (appEnvId) => describeEnvironment(runner, appEnvId),
  })
  closers.push(() => chat.receiver.stop())
  return chat
}
