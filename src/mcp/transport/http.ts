import type { IncomingMessage, ServerResponse } from 'node:http'
import { createClient, newAgentSession } from '../../client/client.ts'
import { AppError } from '../../errors.ts'
import { defaultToolPolicy, type ToolPolicy } from '../policy/tool-policy.ts'
import type { Tool } from '../tools/define-tool.ts'
import { publishTools } from '../tools/publish.ts'
import { type ListedTool, listedTools, type PublishedTool } from '../tools/published-tool.ts'
import { createReadCache } from '../tools/read-cache.ts'
import type { ToolResult } from '../tools/result.ts'
import { runTool } from '../tools/run-tool.ts'
import { HttpExchange, type Resumption } from './http-exchange.ts'
import { createForeignGuard, isOurMethod, type Refusal, readBody, refuse, tokenOf } from './http-guards.ts'
import {
  answerProtocolError,
  canElicit,
  knowsPriming,
  messagesOf,
  requestIdsOf,
  streamingOf,
} from './http-messages.ts'
import { admittedAgent, policyOf, scopeRefusal, unauthenticatedBy } from './http-oauth.ts'
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
import {
  createMcpServer,
  type IncomingCall,
  type JSONRPCMessage,
  type McpServer,
  protocolVersions,
} from './server.ts'

/** How long calls in flight may continue when the platform stops. */
const closeGraceMs = 1_000

export interface McpHttpHandler {
  (req: IncomingMessage, res: ServerResponse): void
  /** Ends every session and, after a short grace, every wait, so that short calls still complete. */
  close(): void
  readonly sessionCount: number
}

/**
 * Streamable HTTP, mounted on the API server. Each request is authenticated by its own token. Requests are stateless;
 * only clients that support questions (elicitation) get a session.
 */
export function createMcpHttpHandler(options: McpHttpOptions): McpHttpHandler {
  const endpoint = new McpEndpoint(options)
  const handler = (req: IncomingMessage, res: ServerResponse) => {
    endpoint.handle(req, res).catch((error: unknown) => {
      options.log.error({ err: error }, 'mcp request failed')
      if (res.headersSent) res.destroy()
      else refuse(req, res, { status: 500, error: 'Internal error', details: 'See the log for the cause.' })
    })
  }
  return Object.defineProperties(handler, {
    close: { value: () => endpoint.close() },
    sessionCount: { get: () => endpoint.sessions.size },
  }) as McpHttpHandler
}

/** The caller of a request, its tools, and its address of this server. */
interface Visitor {
  token: string
  /** Null while the store is unavailable. */
  principal: string | null
  toolPolicy: ToolPolicy
  host: string | undefined
  /** Name of the session in the audit log; stateless requests have none. */
  agentSession?: string | undefined
}

class McpEndpoint {
  readonly sessions: HttpSessions
  readonly #options: McpHttpOptions
  readonly #limits: McpHttpLimits
  readonly #refuseForeign: ReturnType<typeof createForeignGuard>
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #toolPolicy: ToolPolicy
  /** Sessions with calls in flight. */
  readonly #busy = new Set<Session>()
  #published: PublishedTool[] | undefined

  constructor(options: McpHttpOptions) {
    this.#options = options
    this.#refuseForeign = createForeignGuard(options.host ?? '127.0.0.1')
    this.#limits = { ...mcpHttpLimits, ...options.limits }
    this.#tools = new Map(options.registry.map((tool) => [tool.name, tool]))
    this.#toolPolicy = { ...defaultToolPolicy, ...options.toolPolicy }
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
    const foreign = this.#refuseForeign(req)
    if (foreign !== null) return refuse(req, res, foreign)
    if (!isOurMethod(req)) return refuse(req, res, wrongMethod)
    const { oauth } = this.#options
    const sent = tokenOf(req)
    if (sent === null) return refuse(req, res, unauthenticatedBy(oauth, req))
    const agent = await admittedAgent(oauth, req, sent)
    if ('status' in agent) return refuse(req, res, agent)
    const { token } = agent
    const principal = await this.#principalOf(token, req)
    if (principal !== null && typeof principal !== 'string') return refuse(req, res, principal)
    const version = req.headers['mcp-protocol-version']
    if (version !== undefined && !protocolVersions.includes(String(version))) {
      return refuse(req, res, unknownVersion)
    }
    const session = this.#sessionOf(req, token)
    if (session === 'unknown') return refuse(req, res, unknownSession)
    const toolPolicy = policyOf(req, this.#toolPolicy, agent.limits, [...this.#tools.keys()])
    if ('status' in toolPolicy) return refuse(req, res, toolPolicy)
    if (session !== null && session.policyText !== JSON.stringify(toolPolicy))
      return refuse(req, res, otherOptions)
    if (req.method === 'POST') {
      const visitor = { token, principal, toolPolicy, host: req.headers.host }
      return this.#post(req, res, visitor, session)
    }
    if (session === null) return refuse(req, res, wrongMethod)
    if (req.method === 'GET') return resume(req, res, session)
    this.sessions.end(session.id)
    res.writeHead(204).end()
  }

  async #principalOf(token: string, req: IncomingMessage): Promise<string | Refusal | null> {
    const { authenticate, oauth } = this.#options
    try {
      return authenticate ? await authenticate(token, req.socket.remoteAddress ?? '') : token
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.kind === 'unauthenticated') return unauthenticatedBy(oauth, req)
      if (error.kind === 'rate-limited') return tooMany(error)
      // The store is unavailable; the call itself reports that in a result.
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
    visitor: Visitor,
    known: Session | null,
  ): Promise<void> {
    const { token } = visitor
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
    const allowed = { toolPolicy: visitor.toolPolicy, tools: this.#tools }
    const beyond = scopeRefusal(this.#options.oauth, req, parsed.messages, allowed)
    if (beyond !== null) return refuse(req, res, beyond)
    const ids = requestIdsOf(parsed.messages)
    if (ids.length === 0) {
      // Without a session, notifications have no receiver.
      known?.transport.accept(parsed.messages, null, token)
      res.writeHead(202).end()
      return
    }
    const serving = known ?? this.#serve(visitor, parsed.messages)
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

  /** A new server object over shared lists; kept as a session if the client supports questions. */
  #serve(caller: Visitor, messages: readonly JSONRPCMessage[]): Session {
    const { token, principal, toolPolicy } = caller
    const transport = new HttpTransport()
    const hello = messages.find(canElicit)
    const agentSession = hello && newAgentSession()
    const server = this.#newServer({ ...caller, agentSession })
    const policyText = JSON.stringify(toolPolicy)
    // Connecting only sets callbacks, so it completes synchronously.
    void server.connect(transport)
    const session = { transport, server, policyText, primes: hello !== undefined && knowsPriming(hello) }
    const opened =
      hello === undefined || principal === null ? null : this.sessions.open({ token, principal }, session)
    return opened ?? { id: '', ...session }
  }

  #newServer(caller: Visitor): McpServer {
    const { createServer = createMcpServer } = this.#options
    const { token, toolPolicy } = caller
    return createServer({
      tools: () => this.#list(token, toolPolicy),
      callTool: (call) => this.#callTool(call, { ...caller, token: call.token ?? token }),
    })
  }

  async #list(token: string, toolPolicy: ToolPolicy): Promise<ListedTool[]> {
    this.#published ??= publishTools(this.#options.registry)
    return listedTools(this.#published, toolPolicy, (await this.#options.permissions?.(token)) ?? null)
  }

  async #callTool(call: IncomingCall, visitor: Visitor): Promise<ToolResult> {
    const { token, toolPolicy, host, agentSession } = visitor
    const { clock, log, apiUrl } = this.#options
    const client = createClient({ url: apiUrl(), token, surface: 'mcp', agentSession, forwardedHost: host })
    return runTool(
      {
        tools: this.#tools,
        toolPolicy,
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

/** Resumes a broken stream after the event that the client names. */
function resume(req: IncomingMessage, res: ServerResponse, session: Session): void {
  const lastEventId = String(req.headers['last-event-id'])
  const streaming = streamingOf(req.headers.accept)
  const exchange = session.transport.streamOf(lastEventId)
  if (streaming === null || streaming === 'refused') refuse(req, res, notAcceptable)
  else if (exchange === undefined) refuse(req, res, unknownStream)
  else exchange.resume(res, lastEventId)
}
