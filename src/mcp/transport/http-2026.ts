import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createMcpHandler, type McpHttpHandler, type ServerEventBus } from '@modelcontextprotocol/server'
import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { mostWatched, watchResources } from '../resources/watch.ts'
import { withPlainError } from './invalid-params.ts'
import { createServer2026, type Server2026Options } from './server-2026.ts'
import { readerOf, watchedUris } from './subscriptions.ts'

interface Http2026Options {
  clock: Clock
  log: Log
  create?: typeof createServer2026
}

/** One parsed POST of an authenticated caller. */
interface Posted {
  body: unknown
  token: string
  /** Whose subscriptions are counted. */
  principal: string
  server: Server2026Options
}

const mostSubscriptionsOfOne = 10

/** A principal with subscriptions. */
interface Subscriber {
  open: number
  last: Promise<unknown>
}

/** Serves requests of revision 2026-07-28: each with a server object of its own, without sessions. */
export class Http2026 {
  readonly #options: Http2026Options
  readonly #open = new Set<McpHttpHandler>()
  readonly #subscribers = new Map<string, Subscriber>()

  constructor(options: Http2026Options) {
    this.#options = options
  }

  async serve(req: IncomingMessage, res: ServerResponse, posted: Posted): Promise<void> {
    const { create = createServer2026, log } = this.#options
    const uris = watchedUris(posted.body)
    const subscriber = uris && uris.length <= mostWatched ? this.#subscribed(posted.principal) : null
    const noSubscription = uris ? { maxSubscriptions: 0 } : {}
    const handler = createMcpHandler(() => create(posted.server), {
      legacy: 'reject',
      onerror: (error) => log.debug({ err: error }, 'mcp request refused'),
      ...(uris && subscriber ? { bus: this.#busOf(posted, uris, subscriber) } : noSubscription),
    })
    this.#open.add(handler)
    const gone = new AbortController()
    res.once('close', () => gone.abort())
    try {
      const request = requestOf(req, gone.signal)
      const authInfo = { token: posted.token, clientId: '', scopes: [] }
      await send(res, await handler.fetch(request, { parsedBody: posted.body, authInfo }))
    } finally {
      this.#open.delete(handler)
      if (subscriber) this.#unsubscribed(posted.principal, subscriber)
    }
  }

  /** Ends subscriptions and calls in flight. */
  close(): void {
    for (const handler of [...this.#open]) void handler.close()
  }

  /** A `subscriptions/listen` watches its resources as its caller, so each has a source of events of its own. */
  #busOf({ token, server }: Posted, uris: readonly string[], subscriber: Subscriber): ServerEventBus {
    const read = readerOf(server, token)
    return {
      publish: () => {},
      subscribe: (listener) =>
        watchResources({
          uris,
          read: (uri, signal) => readAlone(subscriber, () => read(uri, signal)),
          changed: (uri) => listener({ kind: 'resource_updated', uri }),
          clock: this.#options.clock,
        }),
    }
  }

  /** Counted from the request on, since many may arrive at once; null when the principal has as many as it may. */
  #subscribed(principal: string): Subscriber | null {
    const subscriber = this.#subscribers.get(principal) ?? { open: 0, last: Promise.resolve() }
    if (subscriber.open >= mostSubscriptionsOfOne) return null
    subscriber.open += 1
    this.#subscribers.set(principal, subscriber)
    return subscriber
  }

  #unsubscribed(principal: string, subscriber: Subscriber): void {
    subscriber.open -= 1
    if (subscriber.open === 0) this.#subscribers.delete(principal)
  }
}

/** The reads of all subscriptions of a principal come one after the other. */
function readAlone<T>(subscriber: Subscriber, read: () => Promise<T>): Promise<T> {
  const result = subscriber.last.then(read)
  subscriber.last = result.catch(() => {})
  return result
}

/** The request as the library takes it; its body is handed over parsed. */
function requestOf(req: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(req.headers)) {
    if (value !== undefined && name !== 'authorization') headers.set(name, String(value))
  }
  return new Request('http://localhost/mcp', { method: 'POST', headers, signal })
}

async function send(res: ServerResponse, response: Response): Promise<void> {
  if (res.destroyed) return
  const headers = Object.fromEntries(response.headers)
  if (headers['content-type']?.startsWith('text/event-stream') && response.body !== null) {
    res.writeHead(response.status, headers)
    res.flushHeaders()
    // A client that leaves ends the stream early.
    await pipeline(Readable.fromWeb(response.body as never), res).catch(() => {})
    return
  }
  const text = await response.text()
  const isError = text.slice(0, 200).includes('"error":{')
  const body = Buffer.from(isError ? JSON.stringify(withPlainError(JSON.parse(text))) : text)
  res.writeHead(response.status, { ...headers, 'content-length': body.length }).end(body)
}
