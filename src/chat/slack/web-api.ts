import { z } from 'zod'
import { createDial, type DialOptions, dialFailure } from '../../alerting/notifiers/dial.ts'
import { jsonOrNull } from '../../json-or-null.ts'
import { readUpTo } from '../../read-up-to.ts'
import { retryAfterMs } from '../../retry-after.ts'
import type { ChatWriter, Sent } from '../chat.ts'
import { laidOut, laidOutForm } from './layout.ts'
import { formMetadata } from './payloads.ts'

type WebApiOptions = DialOptions & {
  /** The API that the operator names, which may be private. */
  defaultBase: string
}

const mostAnswerBytes = 256 * 1024
const longestRequestedMs = 3_600_000

const answer = z.object({
  ok: z.boolean(),
  error: z.string().optional(),
  ts: z.string().max(64).optional(),
  channel: z.string().max(64).optional(),
})

/** Errors after which the message has to be posted again. */
const gone: ReadonlySet<string> = new Set(['message_not_found', 'cant_update_message', 'edit_window_closed'])

/** Writes with a bot token, through the same address rules as webhooks. */
export function createWriters(options: WebApiOptions) {
  const dial = createDial(options)
  return ({ apiBaseUrl, botToken }: { apiBaseUrl: string | null; botToken: string }): ChatWriter => {
    const call = async (method: string, body: object): Promise<Sent> => {
      const url = `${apiBaseUrl ?? options.defaultBase}/${method}`
      try {
        return await dial({ url, trusted: apiBaseUrl === null }, async (dispatcher, address, signal) => {
          const { request } = await import('../../http-client.ts')
          const {
            statusCode,
            headers,
            body: given,
          } = await request(address, {
            method: 'POST',
            headers: {
              'user-agent': 'Longshore',
              'content-type': 'application/json; charset=utf-8',
              authorization: `Bearer ${botToken}`,
            },
            body: JSON.stringify(body),
            dispatcher,
            signal,
          })
          const text = (await readUpTo(given, mostAnswerBytes))?.toString('utf8') ?? ''
          return sentOf(statusCode, text, retryAfterMs(headers['retry-after'], options.clock.wallMs()))
        })
      } catch (error) {
        return { ok: false, reason: dialFailure(error, options.deadlineMs).message }
      }
    }
    return {
      post: (channel, message, thread) =>
        call('chat.postMessage', {
          channel,
          ...laidOut(message),
          ...(thread === null ? {} : { thread_ts: partsOf(thread).ts }),
        }),
      update: (handle, message) => call('chat.update', { ...partsOf(handle), ...laidOut(message) }),
      ask: (triggerId, form, responseUrl) =>
        call('views.open', {
          trigger_id: triggerId,
          view: laidOutForm(form, formMetadata(form.value, responseUrl)),
        }),
    }
  }
}

/** Messages are named by channel and time. */
function partsOf(handle: string): { channel: string; ts: string } {
  const [channel = '', ts = ''] = handle.split('/')
  return { channel, ts }
}

function sentOf(status: number, text: string, requestedMs: number | null): Sent {
  if (status === 429) {
    return {
      ok: false,
      reason: 'the chat limits the rate of messages',
      retryAfterMs: Math.min(requestedMs ?? 1_000, longestRequestedMs),
    }
  }
  if (status !== 200) return { ok: false, reason: `the chat answered ${status}` }
  const { data } = answer.safeParse(jsonOrNull(text))
  if (!data) return { ok: false, reason: 'the chat did not answer as its API does' }
  const { ok, error = '', ts, channel } = data
  if (ok) return { ok: true, handle: ts && channel ? `${channel}/${ts}` : null }
  // Error codes are words such as not_in_channel.
  const code = /^[a-z_]{1,60}$/.test(error) ? error : 'an error'
  return { ok: false, reason: `the chat answered ${code}`, ...(gone.has(error) ? { gone: true } : {}) }
}
