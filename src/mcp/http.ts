import type { IncomingMessage, ServerResponse } from 'node:http'
import { createClient } from '../client/client.ts'
import { AppError } from '../errors.ts'
import type { Tool } from './define-tool.ts'
import { defaultExposure, type Exposure } from './exposure.ts'
import { HttpExchange, type Resumption } from './http-exchange.ts'
import { exposureOfRequest } from './http-exposure.ts'
import {
  isOurMethod,
  type Refusal,
  readBody,
  refuse,
  refuseForeign,
  tokenOf,
  unauthenticated,
} from './http-guards.ts'
import {
  answerProtocolError,
  canBeAsked,
  knowsPriming,
  messagesOf,
  requestIdsOf,
  streamingOf,
} from './http-messages.ts'
import { type McpHttpLimits, type McpHttpOptions, mcpHttpLimits } from './http-options.ts'
import {
  notAcceptable,
  notJson,
  otherOptions,
  tooLarge,
  tooMany,
  unknownSession,
  unknownStream,
  unknownVersion,
  wrongMethod,
} from './http-refusals.ts'
import { HttpSessions, type Session } from './http-sessions.ts'
import { HttpTransport } from './http-transport.ts'
import { publishTools } from './publish-tools.ts'
import { type ListedTool, listedTools, type PublishedTool } from './published-tool.ts'
import { createReadCache } from './read-cache.ts'
import { runTool } from './run-tool.ts'
import {
  createMcpServer,
  type IncomingCall,
  type JSONRPCMessage,
  type McpServer,
  protocolVersions,
} from './server.ts'
import type { ToolResult } from './tool-result.ts'

/** How long calls under way may go on when the platform stops. */
const closeGraceMs = 1_000

export interface McpHttpHandler {
  (req: IncomingMessage, res: ServerResponse): void
  /** Ends every session and, a moment later, every wait: short calls are still answered. */
  close(): void
  readonly sessionCount: number
}

/**
 * Streamable HTTP, for mounting on a server of ours. The token of each request decides who calls. Requests are
 * served without state; only a client that says it can be asked questions gets a session.
 */
export function createMcpHttpHandler(options: McpHttpOptions): McpHttpHandler {
  const endpoint = new McpEndpoint(options)
  const handler = (req: IncomingMessage, res: ServerResponse) => {
    endpoint.handle(req, res).catch((error: unknown) => {
      options.log.error({ err: error }, 'mcp request failed')
      if (res.headersSent) res.destroy()
      else refuse(req, res, { status: 500, error: 'Internal error', details: 'The log has the reason.' })
    })
  }
  return Object.defineProperties(handler, {
    close: { value: () => endpoint.close() },
    sessionCount: { get: () => endpoint.sessions.size },
  }) as McpHttpHandler
}

/** Who calls, with which tools, and how it reached us. */
interface Visitor {
  token: string
  exposure: Exposure
  host: string | undefined
}

class McpEndpoint {
  readonly sessions: HttpSessions
  readonly #options: McpHttpOptions
  readonly #limits: McpHttpLimits
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #exposure: Exposure
  /** What serves a call right now. */
  readonly #busy = new Set<Session>()
  #published: PublishedTool[] | undefined

  constructor(options: McpHttpOptions) {
    this.#options = options
    this.#limits = { ...mcpHttpLimits, ...options.limits }
    this.#tools = new Map(options.registry.map((tool) => [tool.name, tool]))
    this.#exposure = { ...defaultExposure, ...options.exposure }
    this.sessions = new HttpSessions(
      {
        most: this.#limits.sessions,
        mostOfOne: this.#limits.sessionsOfOne,
        idleMs: this.#limits.sessionIdleMs,
      },
      options.clock,
    )
  }

  close(): void {
    if (this.#busy.size === 0) {
      this.sessions.close()
      return
    }
    this.#options.clock.after(closeGraceMs, () => {
      for (const { server } of [...this.#busy]) void server.close()
      this.sessions.close()
    })
  }

  async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const foreign = refuseForeign(req, this.#options.allowedHosts ?? [])
    if (foreign !== null) return refuse(req, res, foreign)
    if (!isOurMethod(req)) return refuse(req, res, wrongMethod)
    const token = tokenOf(req)
    if (token === null) return refuse(req, res, unauthenticated)
    const stranger = await this.#refuseStranger(token, req.socket.remoteAddress ?? '')
    if (stranger !== null) return refuse(req, res, stranger)
    const version = req.headers['mcp-protocol-version']
    if (version !== undefined && !protocolVersions.includes(String(version))) {
      return refuse(req, res, unknownVersion)
    }
    const session = this.#sessionOf(req, token)
    if (session === 'unknown') return refuse(req, res, unknownSession)
    const exposure = this.#exposureOf(req)
    if ('status' in exposure) return refuse(req, res, exposure)
    if (session !== null && session.asked !== JSON.stringify(exposure)) return refuse(req, res, otherOptions)
    if (req.method === 'POST') return this.#post(req, res, { token, exposure, known: session })
    if (session === null) return refuse(req, res, wrongMethod)
    if (req.method === 'GET') return resume(req, res, session)
    this.sessions.end(session.id)
    res.writeHead(204).end()
  }

  #exposureOf(req: IncomingMessage): Exposure | Refusal {
    try {
      return exposureOfRequest(req, this.#exposure, [...this.#tools.keys()])
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { status: 400, error: error.message, details: error.details ?? '' }
    }
  }

  async #refuseStranger(token: string, address: string): Promise<Refusal | null> {
    try {
      await this.#options.authenticate?.(token, address)
      return null
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.kind === 'unauthenticated') return unauthenticated
      if (error.kind === 'rate-limited') return tooMany(error)
      // The store is away: the call itself will say so, in a result the client understands.
      return null
    }
  }

  #sessionOf(req: IncomingMessage, token: string): Session | null | 'unknown' {
    const id = req.headers['mcp-session-id']
    if (id === undefined) return null
    return this.sessions.find(String(id), token) ?? 'unknown'
  }

  async #post(
    req: IncomingMessage,
    res: ServerResponse,
    { token, exposure, known }: { token: string; exposure: Exposure; known: Session | null },
  ): Promise<void> {
    const streaming = streamingOf(req.headers.accept)
    if (streaming === null) return refuse(req, res, notAcceptable)
    if (!/^application\/json\s*(?:;|$)/i.test(req.headers['content-type'] ?? '')) {
      return refuse(req, res, notJson)
    }
    const { bodyBytes, bodyMs } = this.#limits
    const body = await readBody(req, { bytes: bodyBytes, ms: bodyMs })
    if (body === 'too large') return refuse(req, res, tooLarge(bodyBytes))
    if (body === 'gone') return
    const parsed = messagesOf(body)
    if ('refusal' in parsed) return answerProtocolError(res, parsed.refusal)
    const ids = requestIdsOf(parsed.messages)
    if (ids.length === 0) {
      // Notes without a session are notes to nobody.
      known?.transport.accept(parsed.messages, null, token)
      res.writeHead(202).end()
      return
    }
    const serving = known ?? this.#serve({ token, exposure, host: req.headers.host }, parsed.messages)
    const headers: Record<string, string> = serving.id === '' ? {} : { 'mcp-session-id': serving.id }
    const resumption = serving.id === '' ? null : this.#resumptionOf(serving)
    const done = serving.id === '' ? () => void serving.server.close() : this.sessions.use(serving)
    const exchange = new HttpExchange(res, {
      ids,
      isBatch: parsed.isBatch,
      streaming,
      headers,
      resumption,
      onOver: (unanswered) => {
        serving.transport.forget(exchange, unanswered)
        if (serving.transport.isIdle) this.#busy.delete(serving)
        done()
      },
    })
    this.#busy.add(serving)
    serving.transport.accept(parsed.messages, exchange, token)
  }

  #resumptionOf({ transport, primes }: Session): Resumption {
    return {
      name: transport.newStreamName(),
      primes,
      clock: this.#options.clock,
      keptMs: this.#limits.brokenStreamMs,
    }
  }

  /** A fresh server object over shared lists; kept as a session when the client can be asked questions. */
  #serve(caller: Visitor, messages: readonly JSONRPCMessage[]): Session {
    const { token, exposure } = caller
    const transport = new HttpTransport()
    const server = this.#newServer(caller)
    const asked = JSON.stringify(exposure)
    // Connecting only sets callbacks; it is done when this returns.
    void server.connect(transport)
    const hello = messages.find(canBeAsked)
    const session = { transport, server, asked, primes: hello !== undefined && knowsPriming(hello) }
    const opened = hello === undefined ? null : this.sessions.open(token, session)
    return opened ?? { id: '', ...session }
  }

  #newServer(caller: Visitor): McpServer {
    const { createServer = createMcpServer } = this.#options
    const { token, exposure } = caller
    return createServer({
      tools: () => this.#list(token, exposure),
      callTool: (call) => this.#callTool(call, { ...caller, token: call.token ?? token }),
    })
  }

  async #list(token: string, exposure: Exposure): Promise<ListedTool[]> {
    this.#published ??= publishTools(this.#options.registry)
    return listedTools(this.#published, exposure, (await this.#options.standing?.(token)) ?? null)
  }

  async #callTool(call: IncomingCall, { token, exposure, host }: Visitor): Promise<ToolResult> {
    const { clock, log } = this.#options
    const url = this.#options.apiUrl()
    const client = createClient({ url, token, surface: 'mcp', forwardedHost: host })
    return runTool(
      {
        tools: this.#tools,
        exposure,
        client,
        reads: createReadCache(client, clock),
        clock,
        signal: call.signal,
        progress: call.progress,
        askPerson: call.askPerson,
        onFault: (error, requestId, tool) => log.error({ err: error, requestId, tool }, 'tool call failed'),
      },
      call.name,
      call.args,
    )
  }
}

/** Goes on with the stream that broke after the event the client names. */
function resume(req: IncomingMessage, res: ServerResponse, session: Session): void {
  const lastEventId = String(req.headers['last-event-id'])
  const streaming = streamingOf(req.headers.accept)
  const exchange = session.transport.streamOf(lastEventId)
  if (streaming === null || streaming === 'refused') refuse(req, res, notAcceptable)
  else if (exchange === undefined) refuse(req, res, unknownStream)
  else exchange.resume(res, lastEventId)
}
