import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import {
  type CreateMcpHandlerOptions,
  createMcpHandler,
  type McpHttpHandler,
  type ServerEventBus,
} from '@modelcontextprotocol/server'
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

/** Serves requests of revision 2026-07-28: each with a server object of its own, without sessions. */
export class Http2026 {
  readonly #options: Http2026Options
  readonly #open = new Set<McpHttpHandler>()
  readonly #subscriptions = new Map<string, number>()

  constructor(options: Http2026Options) {
    this.#options = options
  }

  async serve(req: IncomingMessage, res: ServerResponse, posted: Posted): Promise<void> {
    const { create = createServer2026, log } = this.#options
    const handler = createMcpHandler(() => create(posted.server), {
      legacy: 'reject',
      onerror: (error) => log.debug({ err: error }, 'mcp request refused'),
      ...this.#subscriptionsOf(posted),
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
    }
  }

  /** Ends subscriptions and calls in flight. */
  close(): void {
    for (const handler of [...this.#open]) void handler.close()
  }

  /** A `subscriptions/listen` watches its resources as its caller, so each has a source of events of its own. */
  #subscriptionsOf({ body, token, principal, server }: Posted): Partial<CreateMcpHandlerOptions> {
    const uris = watchedUris(body)
    const count = this.#subscriptions.get(principal) ?? 0
    if (uris.length > mostWatched || count >= mostSubscriptionsOfOne) return { maxSubscriptions: 0 }
    const bus: ServerEventBus = {
      publish: () => {},
      subscribe: (listener) => {
        this.#count(principal, 1)
        const stop = watchResources({
          uris,
          read: readerOf(server, token),
          changed: (uri) => listener({ kind: 'resource_updated', uri }),
          clock: this.#options.clock,
        })
        return () => {
          this.#count(principal, -1)
          stop()
        }
      },
    }
    return { bus }
  }

  #count(principal: string, change: number): void {
    const count = (this.#subscriptions.get(principal) ?? 0) + change
    if (count > 0) this.#subscriptions.set(principal, count)
    else this.#subscriptions.delete(principal)
  }
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
