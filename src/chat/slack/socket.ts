import type { Log } from '../../log.ts'
import type { ChatSocket, Receive } from '../chat.ts'
import { incomingOf } from './payloads.ts'

interface SocketOptions {
  appToken: string
  botToken: string
  /** The API of Slack, without a trailing slash. */
  apiBase: string
  log: Log
}

/**
 * Receives over Socket Mode: the socket is opened from here, with the app token, so what arrives on it is Slack's. The
 * library is large and loaded only for the first connection of this kind.
 */
export async function openSlackSocket(
  { appToken, botToken, apiBase, log }: SocketOptions,
  receive: Receive,
): Promise<ChatSocket> {
  // Bundled, a package without ES modules is its own default.
  const loaded = await import('@slack/bolt')
  const bolt = 'SocketModeReceiver' in loaded ? loaded : (loaded as { default: typeof loaded }).default
  const logger = quietLogger(log)
  const receiver = new bolt.SocketModeReceiver({
    appToken,
    logger,
    installerOptions: { clientOptions: { slackApiUrl: `${apiBase}/` } },
  })
  const app = new bolt.App({
    receiver,
    logger,
    authorize: async () => ({ botToken }),
    clientOptions: { slackApiUrl: `${apiBase}/` },
  })
  const everything = /^/
  const take = async (body: unknown, ack: () => Promise<void>): Promise<void> => {
    // Slack shows an error after three seconds, so answers follow through their own address.
    await ack()
    const incoming = incomingOf(body)
    if (incoming) await receive(incoming)
  }
  app.command(everything, ({ body, ack }) => take(body, ack))
  app.action(everything, ({ body, ack }) => take(body, ack))
  app.view(everything, ({ body, ack }) => take(body, ack))
  app.error(async (error) => log.warn({ error: error.name }, 'a request of the chat failed'))
  await app.start()
  return {
    async stop() {
      await app.stop()
    },
  }
}

/** Messages of the library may quote requests and addresses, so only that there was one is logged. */
function quietLogger(log: Log) {
  const none = () => {}
  const note = () => log.debug('the connection to the chat reports a problem')
  const levels = { debug: none, info: none, warn: note, error: note }
  return { ...levels, setLevel: none, getLevel: () => 'error' as never, setName: none }
}
