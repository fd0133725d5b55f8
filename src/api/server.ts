import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import { type AddressInfo, type Server as NetServer, Socket } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Receiver } from '../chat/receiver.ts'
import type { HttpSend } from '../client/http-send.ts'
import type { Operation } from '../contract/operation.ts'
import { apiPrefix } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { OAuthRoutes } from '../oauth/server.ts'
import { mostClients } from '../open-files.ts'
import type { SecretEntry } from '../operations/access/secret-entry.ts'
import type { DecisionLinks } from '../operations/approvals/decision-links.ts'
import type { OperationRunner, UploadReceiver } from '../operations/core/call.ts'
import type { SpanSink } from '../trace.ts'
import { plainAddress, TrustedProxies } from '../trusted-proxies.ts'
import { addApprovalPage } from './approval-page.ts'
import { cannotListen } from './cannot-listen.ts'
import { addChatRoute } from './chat-route.ts'
import { credentialReader, type GrantReader } from './console-credential.ts'
import { addConsoleRoutes, type ConsoleOptions } from './console-routes.ts'
import { errorResponse } from './error-response.ts'
import { beginFairly, noteConnect } from './fair-queue.ts'
import { hostCheck } from './host-check.ts'
import { addMcpRoute, type McpHandler } from './mcp-route.ts'
import { addOAuthRoutes } from './oauth-routes.ts'
import { addOidcRoutes } from './oidc-routes.ts'
import { openSocket } from './open-socket.ts'
import { openapiText } from './openapi.ts'
import { addOperationRoutes } from './operation-routes.ts'
import { addPeerRoute } from './peer-route.ts'
import { answerClientError, answerUnknownExpectation, commonHeaders, discardRest } from './raw-errors.ts'
import { addReferenceRoutes } from './reference-routes.ts'
import { logRequest } from './request-log.ts'
import { addSecretPage } from './secret-page.ts'
import { sendInside } from './send-inside.ts'
import { endSlowReaders } from './slow-readers.ts'
import { addStatusRoutes, type StatusSources } from './status-routes.ts'
import { addUploadRoute } from './upload-route.ts'

export interface ApiServerOptions extends Omit<StatusSources, 'hasMcp' | 'hasReference' | 'hasConsole'> {
  operations: readonly Operation[]
  runner: OperationRunner
  uploads: UploadReceiver
  /** The links of request-secret; absent = no such page. */
  secrets?: SecretEntry | undefined
  /** Takes commands and clicks of chats; absent = no such address. */
  chat?: Pick<Receiver, 'hook'> | undefined
  decisionLinks?: DecisionLinks | undefined
  /** Handles raw requests to `/mcp`, including authentication; absent = 404. */
  mcp?: McpHandler | undefined
  /** Calls of other control planes of the installation; absent = there are none. */
  peer?: { path: string; serve: (sealed: string) => Promise<string> } | undefined
  /** Folder with the files of the API reference page; absent = no page. */
  referenceDir?: string | undefined
  /** The web console; absent = not served, and cookies are ignored. */
  console?: ConsoleOptions | undefined
  /** Sign-in of agents; absent = off. */
  oauth?: (OAuthRoutes & { grantOf: GrantReader }) | undefined
  /** The address to bind, such as `127.0.0.1`; decides which `Host` headers are accepted (host-check.ts). */
  host: string
  /** Gets a span for each operation. */
  spans?: SpanSink | undefined
  /** The public host name, if there is one. */
  installationName?: string | undefined
  log: Log
  /** Peers whose `X-Forwarded-For` names the client. Default: none. */
  trustedProxies?: readonly string[] | undefined
  /** How long a request head may take to arrive, in milliseconds. Default 15,000. */
  headTimeoutMs?: number
  /** How long a JSON body may take to arrive and an upload may pause, in milliseconds. Default 30,000. */
  bodyTimeoutMs?: number
  /** How long `close` waits for requests in flight, in milliseconds. Default 10,000. */
  closeGraceMs?: number
  /** Open connections; more are closed at once. Default: derived from the limit of open files. */
  mostConnections?: number
}

interface ApiAddress {
  host: string
  port: number
  /** `http://host:port`, without a final slash. */
  url: string
}

export interface ApiServer {
  /** Binds; port 0 picks a free port. Throws `AppError` if the port is taken or the address is not local. */
  listen(port: number): Promise<ApiAddress>
  /**
   * Also serves the owner's programs on a Unix socket, whose word about the client is believed: the gateway passes on
   * requests that it got for this server.
   */
  listenAt(socketPath: string): Promise<void>
  /** Stops accepting, lets requests in flight finish for `closeGraceMs`, then closes the others. */
  close(): Promise<void>
  /** The listening address; null before `listen` and after `close`. */
  address(): ApiAddress | null
  /** Serves requests of this process, without a connection. */
  send: HttpSend
}

const bodyLimitBytes = 1_048_576
/** Connections that the system holds until they are accepted. It drops more than that, and their clients try again later. */
const backlog = 4_096
const unreadMs = 30_000
/** Number of checks of open connections within `headTimeoutMs`. */
const headChecks = 15

/** Creates the HTTP server from the contract rows: REST, uploads, probes, OpenAPI and MCP. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const { headTimeoutMs = 15_000 } = options
  const proxies = new TrustedProxies(options.trustedProxies)
  const app = Fastify({
    logger: false,
    // The ready line shows the address with its prefix, so accept clients that add the prefix again.
    rewriteUrl: ({ url = '/' }) =>
      url.startsWith(`${apiPrefix}${apiPrefix}/`) ? url.slice(apiPrefix.length) : url,
    exposeHeadRoutes: false,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    // A Unix socket has no address.
    trustProxy: (address?: string) => !address || proxies.has(plainAddress(address)),
    // Requests on open connections are still served during close; the response closes the connection.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 256 },
    http: {
      // host-check.ts checks Host and responds with our error body.
      requireHostHeader: false,
      headersTimeout: headTimeoutMs,
      connectionsCheckingInterval: headTimeoutMs / headChecks,
    },
    clientErrorHandler: answerClientError as never,
    frameworkErrors: (error, request, reply) => {
      for (const [name, value] of Object.entries(commonHeaders)) reply.header(name, value)
      reply.header('x-request-id', request.id)
      sendError(error, request as FastifyRequest, reply as unknown as FastifyReply)
    },
  })
  app.server.on('checkExpectation', answerUnknownExpectation)
  app.server.on('connection', noteConnect)
  app.server.maxConnections = options.mostConnections ?? mostClients()
  endSlowReaders(app.server, unreadMs)
  // The framework parses no bodies: json-body.ts reads JSON, other routes read their own.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  addHooks(app, options)
  addRoutes(app, options)
  return serverOf(app, options)
}

function addHooks(app: FastifyInstance, options: ApiServerOptions): void {
  const check = hostCheck(options)
  const allowed = new Map<string, string[]>()
  app.decorateRequest('failure', null)
  app.addHook('onRequest', ({ url, headers, ip, raw }, _reply, done) => {
    // A request of this process to itself is part of one that has waited.
    const isInside = !(raw.socket instanceof Socket)
    if (isInside || /^\/(?:healthz|readyz)\b/.test(url)) done()
    else beginFairly(ip, headers.authorization ?? ip, done)
  })
  app.addHook('onRoute', ({ url, method }) => {
    allowed.set(url, (allowed.get(url) ?? []).concat(method))
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(commonHeaders).header('x-request-id', request.id)
    // `onResponse` fires for sent responses; this handles callers that disconnected earlier.
    let sent = false
    reply.raw
      .once('finish', () => {
        sent = true
      })
      .once('close', () => {
        if (!sent) logRequest(options.log, request, reply, true)
      })
    check(request.headers)
    if (request.is404) throw notFound(request, reply, allowed)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    discardRest(request.raw)
    logRequest(options.log, request, reply)
    done()
  })
  app.setErrorHandler(sendError)
}

function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const answer = errorResponse(error, request.id)
  request.failure = answer.bug ? error : error instanceof AppError ? (error.cause ?? null) : null
  reply
    .code(answer.status)
    .headers({ ...commonHeaders, ...answer.headers })
    .send(answer.body)
}

/** 405 with `Allow` for a known path, 404 for others. Thrown before the body is read. */
function notFound(request: FastifyRequest, reply: FastifyReply, allowed: Map<string, string[]>): AppError {
  const path = request.url.split('?', 1)[0]!
  const methods = allowed.get(path) ?? (/^\/uploads\/[^/]+$/.test(path) ? ['PUT'] : undefined)
  if (methods === undefined) {
    return new AppError('not-found', 'Not found', {
      details: `${apiPrefix}/openapi.json lists all operations.`,
    })
  }
  const allow = [...new Set(methods)].sort().join(', ')
  reply.header('allow', allow)
  return new AppError('method-not-allowed', 'Method not allowed', { details: `This path supports ${allow}.` })
}

function addRoutes(app: FastifyInstance, options: ApiServerOptions): void {
  const limits = { bytes: bodyLimitBytes, timeoutMs: options.bodyTimeoutMs ?? 30_000 }
  const credentialOf = credentialReader(options.console?.sessions, options.oauth?.grantOf)
  addOperationRoutes(app, options.operations, options.runner, limits, credentialOf, options.spans)
  addUploadRoute(app, options.uploads, limits.timeoutMs)
  if (options.secrets !== undefined) addSecretPage(app, options.secrets, limits)
  if (options.chat !== undefined) addChatRoute(app, options.chat)
  if (options.decisionLinks !== undefined) addApprovalPage(app, options.decisionLinks, limits)
  const { mcp, referenceDir } = options
  const sources = {
    ...options,
    hasMcp: mcp !== undefined,
    hasReference: referenceDir !== undefined,
    hasConsole: options.console !== undefined,
  }
  addStatusRoutes(app, sources, async ({ headers, ip: address }) => {
    try {
      const { token, credential } = await credentialOf(headers)
      if (token === null) return false
      await options.runner.authenticate(token, { address, reads: true, credential })
      return true
    } catch {
      return false
    }
  })
  if (options.console !== undefined) {
    addConsoleRoutes(app, options.console, options.runner, limits)
    addOidcRoutes(app, options.console)
  }
  if (options.oauth !== undefined) addOAuthRoutes(app, options.oauth, options.console?.sessions)
  if (referenceDir !== undefined) addReferenceRoutes(app, referenceDir)
  let openapi: Promise<string> | undefined
  app.get(`${apiPrefix}/openapi.json`, async (_request, reply) => {
    openapi ??= openapiText(options.operations)
    return reply.send(await openapi)
  })
  const originOf = (host = '') => options.oauth?.addresses(host).issuer ?? `http://${host}`
  if (mcp !== undefined) addMcpRoute(app, mcp, { log: options.log, originOf })
  if (options.peer !== undefined) addPeerRoute(app, options.peer.path, options.peer.serve, limits)
}

function serverOf(app: FastifyInstance, options: ApiServerOptions): ApiServer {
  const server: Server = app.server
  let closing: Promise<void> | undefined
  let socket: NetServer | undefined
  const address = (): ApiAddress | null => {
    const bound = server.address() as AddressInfo | null
    if (bound === null) return null
    const host = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
    return { host: bound.address, port: bound.port, url: `http://${host}:${bound.port}` }
  }
  return {
    address,
    send: sendInside(app),
    async listen(port) {
      try {
        // For `localhost` the framework would open a second server without our close and error handling.
        await app.listen({ host: options.host === 'localhost' ? '127.0.0.1' : options.host, port, backlog })
      } catch (cause) {
        throw cannotListen(cause, options.host, port)
      }
      return address()!
    },
    async listenAt(socketPath) {
      socket = await openSocket(server, socketPath)
    },
    close() {
      socket?.close()
      closing ??= closeWithin(app, options.closeGraceMs ?? 10_000)
      return closing
    },
  }
}

async function closeWithin(app: FastifyInstance, graceMs: number): Promise<void> {
  const deadline = setTimeout(() => app.server.closeAllConnections(), graceMs)
  // Connections that were busy at first become idle later, so close idle ones repeatedly.
  const sweep = setInterval(() => app.server.closeIdleConnections(), 20)
  try {
    await app.close()
  } finally {
    clearTimeout(deadline)
    clearInterval(sweep)
  }
}
