import type { IncomingMessage, ServerResponse } from 'node:http'
import { bearerToken } from '../../../bearer-token.ts'
import { newAgentSession } from '../../../client/client.ts'
import { clientAddressOf } from '../../../client-address.ts'
import { processQuestionStates, type QuestionStates } from '../../policy/questions.ts'
import { isHttpOf2026 } from '../era.ts'
import {
  createMcpServer,
  type JSONRPCMessage,
  type McpServer,
  protocolVersions,
  versionHeader,
} from '../server.ts'
import { discoveryDocuments } from './discovery.ts'
import type { Http2026 } from './era-2026.ts'
import { createForeignGuard, isOurMethod, type Refusal, refuse } from './guards.ts'
import {
  answerProtocolError,
  canElicit,
  knowsPriming,
  messagesOf,
  parseBody,
  readPost,
  requestIdsOf,
  streamingOf,
} from './messages.ts'
import { admittedAgent, unauthenticatedBy } from './oauth.ts'
import { type McpHttpLimits, type McpHttpOptions, mcpHttpLimits } from './options.ts'
import { PostResponse, type Resumption } from './post-response.ts'
import {
  notAcceptable,
  otherOptions,
  unknownSession,
  unknownStream,
  unknownVersion,
  wrongMethod,
} from './refusals.ts'
import { HttpSessions, type Session } from './sessions.ts'
import { type HttpCaller, HttpTools } from './tools.ts'
import { HttpTransport } from './transport.ts'

/** How long calls in flight may continue when the platform stops. */
const closeGraceMs = 1_000

export interface McpHttpHandler {
  (req: IncomingMessage, res: ServerResponse): void
  /** Ends every session and, after a short grace, every wait, so that short calls still complete. */
  close(): void
  readonly sessionCount: number
  readonly documents: typeof discoveryDocuments
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
    documents: { value: discoveryDocuments },
  }) as McpHttpHandler
}

/** The messages of one POST. */
interface Posted {
  caller: HttpCaller
  known: Session | null
  messages: JSONRPCMessage[]
  isBatch: boolean
}

class McpEndpoint {
  readonly sessions: HttpSessions
  readonly #options: McpHttpOptions
  readonly #limits: McpHttpLimits
  readonly #refuseForeign: ReturnType<typeof createForeignGuard>
  readonly #tools: HttpTools
  /** Sessions with calls in flight. */
  readonly #busy = new Set<Session>()
  readonly #questions: QuestionStates
  #http2026: Promise<Http2026> | undefined

  constructor(options: McpHttpOptions) {
    this.#options = options
    this.#refuseForeign = createForeignGuard({ host: '127.0.0.1', ...options })
    this.#limits = { ...mcpHttpLimits, ...options.limits }
    this.#tools = new HttpTools(options)
    this.#questions = options.questions ?? processQuestionStates(options.clock)
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
    const { clock } = this.#options
    void this.#http2026?.then((http) => clock.after(closeGraceMs, () => http.close()))
    if (this.#busy.size === 0) {
      this.sessions.close()
      return
    }
    clock.after(closeGraceMs, () => {
      for (const { server } of [...this.#busy]) void server.close()
      this.sessions.close()
    })
  }

  async handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const foreign = this.#refuseForeign(req)
    if (foreign !== null) return refuse(req, res, foreign)
    if (!isOurMethod(req)) return refuse(req, res, wrongMethod)
    const { oauth } = this.#options
    const sent = bearerToken(req.headers)
    if (sent === null) return refuse(req, res, unauthenticatedBy(oauth, req))
    const agent = await admittedAgent(oauth, req, sent)
    if ('status' in agent) return refuse(req, res, agent)
    const { token, declined } = agent
    const principal = await this.#tools.principalOf(token, req)
    if (principal !== null && typeof principal !== 'string') return refuse(req, res, principal)
    const toolPolicy = this.#tools.toolPolicyOf(req, agent.limits)
    if ('status' in toolPolicy) return refuse(req, res, toolPolicy)
    const caller = {
      ...{ token, principal, toolPolicy, declined },
      host: req.headers.host,
      address: clientAddressOf(req),
    }
    if (req.method === 'POST') return this.#post(req, res, caller)
    const session = this.#sessionOf(req, caller)
    if (session === null) return refuse(req, res, wrongMethod)
    if ('status' in session) return refuse(req, res, session)
    if (req.method === 'GET') return resume(req, res, session)
    this.sessions.end(session.id)
    res.writeHead(204).end()
  }

  /** The session that a request names; null if it names none. */
  #sessionOf(req: IncomingMessage, { token, toolPolicy }: HttpCaller): Session | Refusal | null {
    const version = req.headers[versionHeader]
    if (version !== undefined && !protocolVersions.includes(String(version))) return unknownVersion
    const id = req.headers['mcp-session-id']
    if (id === undefined) return null
    const session = this.sessions.find(String(id), token)
    if (session === null) return unknownSession
    return session.policyText === JSON.stringify(toolPolicy) ? session : otherOptions
  }

  /** Hosts that lost their session send `initialize` with its id: that opens a new one. */
  #sessionFor(req: IncomingMessage, caller: HttpCaller, body: unknown): Session | Refusal | null {
    const found = this.#sessionOf(req, caller)
    const isLost = found === unknownSession || found === otherOptions
    return isLost && Object(body).method === 'initialize' ? null : found
  }

  async #post(req: IncomingMessage, res: ServerResponse, caller: HttpCaller): Promise<void> {
    const body = await readPost(req, this.#limits)
    if (body === 'gone') return
    if (!Buffer.isBuffer(body)) return refuse(req, res, body)
    const json = parseBody(body)
    if ('refusal' in json) return answerProtocolError(res, json.refusal)
    const beyond = await this.#tools.scopeRefusalOf(req, json.value, caller)
    if (beyond !== null) return refuse(req, res, beyond)
    if (isHttpOf2026(req.headers, json.value)) return this.#serve2026(req, res, caller, json.value)
    const known = this.#sessionFor(req, caller, json.value)
    if (known !== null && 'status' in known) return refuse(req, res, known)
    const parsed = messagesOf(json.value, known?.server.revision ?? req.headers[versionHeader])
    if ('refusal' in parsed) return answerProtocolError(res, parsed.refusal)
    this.#serveMessages(req, res, { caller, known, ...parsed })
  }

  /** Without sessions: each request names its revision and capabilities. */
  async #serve2026(req: IncomingMessage, res: ServerResponse, caller: HttpCaller, body: unknown) {
    const { log, clock, createServer2026: create } = this.#options
    this.#http2026 ??= import('./era-2026.ts').then(
      ({ Http2026 }) => new Http2026({ log, clock, ...(create && { create }) }),
    )
    const { token, principal } = caller
    const server = { ...this.#tools.serverOptions(caller), questions: this.#questions }
    await (await this.#http2026).serve(req, res, { body, token, principal: principal ?? token, server })
  }

  #serveMessages(
    req: IncomingMessage,
    res: ServerResponse,
    { caller, known, messages, isBatch }: Posted,
  ): void {
    const { token } = caller
    const ids = requestIdsOf(messages)
    if (ids.length === 0) {
      // Without a session, notifications have no receiver.
      known?.transport.accept(messages, null, { token, headers: req.headers })
      res.writeHead(202).end()
      return
    }
    const serving = known ?? this.#serve(caller, messages)
    const headers: Record<string, string> = serving.id === '' ? {} : { 'mcp-session-id': serving.id }
    const resumption = serving.id === '' ? null : this.#resumptionOf(serving)
    const done = serving.id === '' ? () => void serving.server.close() : this.sessions.use(serving)
    const response = new PostResponse(res, {
      ids,
      isBatch,
      streaming: streamingOf(req.headers.accept) ?? 'refused',
      headers,
      resumption,
      onBroken: () => serving.transport.boundBroken(),
      onOver: (unanswered) => {
        serving.transport.forget(response, unanswered)
        if (serving.transport.isIdle) this.#busy.delete(serving)
        done()
      },
    })
    this.#busy.add(serving)
    serving.transport.accept(messages, response, { token, headers: req.headers })
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
  #serve(caller: HttpCaller, messages: readonly JSONRPCMessage[]): Session {
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

  #newServer(caller: HttpCaller): McpServer {
    const { createServer = createMcpServer } = this.#options
    return createServer(this.#tools.serverOptions(caller))
  }
}

/** Resumes a broken stream after the event that the client names. */
function resume(req: IncomingMessage, res: ServerResponse, session: Session): void {
  const lastEventId = String(req.headers['last-event-id'])
  const streaming = streamingOf(req.headers.accept)
  const response = session.transport.streamOf(lastEventId)
  if (streaming === null || streaming === 'refused') refuse(req, res, notAcceptable)
  else if (response === undefined) refuse(req, res, unknownStream)
  else response.resume(res, lastEventId)
}
