import { type Chat, openChat } from '../../src/chat/open.ts'
import type { OperationRunner } from '../../src/operations/core/call.ts'
import { describeEnvironment } from '../../src/operations/diagnosis/describe-environment.ts'
import { chatWords } from '../../src/server/chat.ts'
import type { TestPlatformOptions } from './options.ts'

type ChatDeps = Parameters<typeof openChat>[0]

interface WithChat extends Pick<ChatDeps, 'db' | 'clock' | 'log' | 'secrets'> {
  apiUrl: string
  runner: OperationRunner & Parameters<typeof describeEnvironment>[0]
  options: TestPlatformOptions
}

/** The chats of a test platform. Tests start its outbox and sockets themselves. */
export function openTestChat(platform: WithChat, closers: (() => unknown)[]): Chat {
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
