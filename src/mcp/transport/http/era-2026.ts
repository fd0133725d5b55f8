import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createMcpHandler, type McpHttpHandler, type ServerEventBus } from '@modelcontextprotocol/server'
import type { Clock } from '../../../clock.ts'
import type { Log } from '../../../log.ts'
import { mostWatched, watchResources } from '../../resources/watch.ts'
import { withPlainError } from '../invalid-params.ts'
import { createServer2026, type Server2026Options } from '../server-2026.ts'
import { listEvents, readerOf, watchedUris } from '../subscriptions.ts'
import { WatchReads } from '../watch-reads.ts'

interface Http2026Options {
  clock: Clock
  log: Log
  create?: typeof createServer2026
}

/** One parsed POST of an authenticated caller. */
interface Posted {
  body: unknown
  token: string
  /** The principal whose subscriptions are counted. */
  principal: string
  server: Server2026Options
}

const mostSubscriptionsOfOne = 10

/** Serves requests of revision 2026-07-28: each with a server object of its own, without sessions. */
export class Http2026 {
  readonly #options: Http2026Options
  readonly #open = new Set<McpHttpHandler>()
  /** Open subscriptions by principal. */
  readonly #subscriptions = new Map<string, number>()
  readonly #reads = new WatchReads()

  constructor(options: Http2026Options) {
    this.#options = options
  }

  async serve(req: IncomingMessage, res: ServerResponse, posted: Posted): Promise<void> {
    const { create = createServer2026, log } = this.#options
    const uris = watchedUris(posted.body)
    const isAdmitted = uris !== null && uris.length <= mostWatched && this.#subscribe(posted.principal)
    const noSubscription = uris ? { maxSubscriptions: 0 } : {}
    const handler = createMcpHandler(() => create(posted.server), {
      legacy: 'reject',
      onerror: (error) => log.debug({ err: error }, 'mcp request refused'),
      ...(isAdmitted ? { bus: this.#busOf(posted, uris) } : noSubscription),
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
      if (isAdmitted) this.#unsubscribe(posted.principal)
    }
  }

  /** Ends subscriptions and calls in flight. */
  close(): void {
    for (const handler of [...this.#open]) void handler.close()
  }

  /** A `subscriptions/listen` watches its resources as its caller, so each has a source of events of its own. */
  #busOf({ token, principal, server }: Posted, uris: readonly string[]): ServerEventBus {
    const read = readerOf(server, token)
    return {
      publish: () => {},
      subscribe: (listener) =>
        watchResources({
          uris,
          read: (uri, signal) => this.#reads.run(principal, signal, () => read(uri, signal)),
          changed: (uri) => listener(eventOf(uri)),
          clock: this.#options.clock,
        }),
    }
  }

  /** Counted from the request on, since many may arrive at once; false if the principal has reached the limit. */
  #subscribe(principal: string): boolean {
    const open = this.#subscriptions.get(principal) ?? 0
    if (open >= mostSubscriptionsOfOne) return false
    this.#subscriptions.set(principal, open + 1)
    return true
  }

  #unsubscribe(principal: string): void {
    const open = (this.#subscriptions.get(principal) ?? 1) - 1
    if (open > 0) this.#subscriptions.set(principal, open)
    else this.#subscriptions.delete(principal)
  }
}

function eventOf(uri: string) {
  return listEvents[uri as keyof typeof listEvents] ?? { kind: 'resource_updated' as const, uri }
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
