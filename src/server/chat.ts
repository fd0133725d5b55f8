import { tools } from '../../tools/index.ts'
import { openChat } from '../chat/open.ts'
import type { Receiver } from '../chat/receiver.ts'
import type { Words } from '../chat/sentences.ts'
import { inShellWords } from '../cli/rows/words.ts'
import type { OperationRunner } from '../operations/core/call.ts'
import { notificationFacts, type Started } from './installation.ts'
import type { Platform } from './platform.ts'

/** Commands of the shell that the chat has, too. */
const shared = /(?<!\/)\blongshore (why|status|logs)\b/g

export const chatWords: Words = {
  /** Operations without a tool, and those whose tool waits, say it in their message. */
  sentence(operationId, answer, input, envName) {
    const tool = tools.find(({ name }) => name === operationId)
    const sentence = tool?.point?.(answer as never, input as never, envName)
    return sentence ?? String((answer as { message?: unknown }).message ?? 'Done.')
  },
  asCommands: (text, envName) => inShellWords(text, envName).replace(shared, '/longshore $1'),
}

/** Chats: requests are taken by every control plane; one of them holds the sockets and sends the messages. */
export function chatOf(platform: Platform, started: Started, runner: OperationRunner): Receiver {
  const { config, membership } = platform
  const { slackApiUrl, allowPrivateWebhooks: allowPrivate } = config
  const facts = notificationFacts(config, started)
  const chat = openChat({ ...platform, ...facts, runner, words: chatWords, slackApiUrl, allowPrivate })
  membership.lease('chat', (db) => {
    const [outbox, sockets] = [chat.outbox(db), chat.sockets(db)]
    outbox.start()
    sockets.start()
    return { wake: () => outbox.wake(), stop: () => Promise.all([sockets.stop(), outbox.stop()]) }
  })
  return chat.receiver
}
