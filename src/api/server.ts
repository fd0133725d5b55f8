import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Operation } from '../contract/operation.ts'
import { apiPrefix } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { OperationRunner, UploadReceiver } from '../operations/call.ts'
import { describeForLog, errorResponse } from './error-response.ts'
import { hostCheck } from './host-check.ts'
import { openapiText } from './openapi.ts'
import { addOperationRoutes } from './operation-routes.ts'
import {
  answerClientError,
  answerUnknownExpectation,
  commonHeaders,
  discardRest,
  writeAnswer,
} from './raw-errors.ts'
import { addReferenceRoutes } from './reference-routes.ts'
import { logRequest } from './request-log.ts'
import { addStatusRoutes, type StatusSources } from './status-routes.ts'
import { addUploadRoute } from './upload-route.ts'

export interface ApiServerOptions extends Omit<StatusSources, 'hasMcp' | 'hasReference'> {
  operations: readonly Operation[]
  runner: OperationRunner
  uploads: UploadReceiver
  /** Gets every request to `/mcp` raw, its body unread; absent = 404. It answers and authenticates itself. */
  mcp?: ((request: IncomingMessage, response: ServerResponse) => unknown) | undefined
  /** Folder with the files of the page people read the interface on; absent = no page. */
  referenceDir?: string | undefined
  /** The address to bind, such as `127.0.0.1`; decides which `Host` headers are answered (host-check.ts). */
  host: string
  /** The public host name, when the server is reached under one. */
  installationName?: string | undefined
  log: Log
  /** How long a JSON body may take to arrive and an upload may pause, in milliseconds. Default 30,000. */
  bodyTimeoutMs?: number
  /** How long `close` waits for requests in flight, in milliseconds. Default 10,000. */
  closeGraceMs?: number
}

export interface ApiAddress {
  host: string
  port: number
  /** `http://host:port`, without a final slash. */
  url: string
}

export interface ApiServer {
  /** Binds; port 0 picks a free one. A taken port or an address that is not ours is an `AppError`. */
  listen(port: number): Promise<ApiAddress>
  /** Stops accepting, lets requests in flight finish for `closeGraceMs`, then cuts what is left. */
  close(): Promise<void>
  /** Where it listens, null before `listen` and after `close`. */
  address(): ApiAddress | null
}

const bodyLimitBytes = 1_048_576

/** Makes the HTTP server from the contract rows: REST, uploads, probes, OpenAPI, and the door to MCP. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const app = Fastify({
    logger: false,
    // The ready line shows the address with its prefix; a client that adds the prefix once more is understood.
    rewriteUrl: ({ url = '/' }) =>
      url.startsWith(`${apiPrefix}${apiPrefix}/`) ? url.slice(apiPrefix.length) : url,
    exposeHeadRoutes: false,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    // Requests that arrive on open connections during close are still answered; the answer closes them.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 256 },
    // The check of Host is ours, with an answer in our shape.
    http: { requireHostHeader: false },
    clientErrorHandler: answerClientError as never,
    frameworkErrors: (error, request, reply) => {
      for (const [name, value] of Object.entries(commonHeaders)) reply.header(name, value)
      reply.header('x-request-id', request.id)
      sendError(error, request as FastifyRequest, reply as unknown as FastifyReply)
    },
  })
  app.server.on('checkExpectation', answerUnknownExpectation)
  // Nothing is parsed by the framework: JSON bodies are read by json-body.ts, the others by whoever wants them.
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
  app.addHook('onRoute', ({ url, method }) => {
    allowed.set(url, (allowed.get(url) ?? []).concat(method))
  })
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(commonHeaders).header('x-request-id', request.id)
    // `onResponse` is for answers that went out; this is for callers who did not wait for theirs.
    reply.raw.once('close', () => {
      if (!reply.raw.writableFinished) logRequest(options.log, request, reply, true)
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

/** 405 with `Allow` for a path that there is, 404 for the others. Thrown before the body is looked at. */
function notFound(request: FastifyRequest, reply: FastifyReply, allowed: Map<string, string[]>): AppError {
  const path = request.url.split('?', 1)[0]!
  const methods = allowed.get(path) ?? (/^\/uploads\/[^/]+$/.test(path) ? ['PUT'] : undefined)
  if (methods === undefined) {
    return new AppError('not-found', 'Not found', {
      details: `${apiPrefix}/openapi.json lists what there is.`,
    })
  }
  const allow = [...new Set(methods)].sort().join(', ')
  reply.header('allow', allow)
  return new AppError('method-not-allowed', 'Method not allowed', { details: `This address takes ${allow}.` })
}

function addRoutes(app: FastifyInstance, options: ApiServerOptions): void {
  const limits = { bytes: bodyLimitBytes, timeoutMs: options.bodyTimeoutMs ?? 30_000 }
  addOperationRoutes(app, options.operations, options.runner, limits)
  addUploadRoute(app, options.uploads, limits.timeoutMs)
  const { mcp, referenceDir } = options
  addStatusRoutes(app, { ...options, hasMcp: mcp !== undefined, hasReference: referenceDir !== undefined })
  if (referenceDir !== undefined) addReferenceRoutes(app, referenceDir)
  let openapi: Promise<string> | undefined
  app.get(`${apiPrefix}/openapi.json`, async (_request, reply) => {
    openapi ??= openapiText(options.operations)
    return reply.send(await openapi)
  })
  if (mcp !== undefined) addMcpRoute(app, mcp, options.log)
}

function addMcpRoute(app: FastifyInstance, mcp: NonNullable<ApiServerOptions['mcp']>, log: Log): void {
  app.all('/mcp', {
    onRequest: (request, reply) => {
      const { raw } = reply
      raw.setHeader('x-request-id', request.id)
      raw.setHeader('cache-control', 'no-store')
      raw.setHeader('x-content-type-options', 'nosniff')
      reply.hijack()
      Promise.resolve()
        .then(() => mcp(request.raw, raw))
        .catch((error: unknown) => {
          request.failure = error
          if (!raw.headersSent) return answerRaw(raw, error, request.id)
          log.error({ requestId: request.id, cause: describeForLog(error) }, 'answer to /mcp broke off')
          raw.destroy()
        })
    },
    handler: () => {},
  })
}

function answerRaw(raw: ServerResponse, error: unknown, requestId: string): void {
  const { status, headers, body } = errorResponse(error, requestId)
  writeAnswer(raw, status, headers, body)
}

function serverOf(app: FastifyInstance, options: ApiServerOptions): ApiServer {
  const server: Server = app.server
  let closing: Promise<void> | undefined
  const address = (): ApiAddress | null => {
    const bound = server.address() as AddressInfo | null
    if (bound === null) return null
    const host = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address
    return { host: bound.address, port: bound.port, url: `http://${host}:${bound.port}` }
  }
  return {
    address,
    async listen(port) {
      try {
        // For `localhost` the framework would open a second server that closes and answers by its own rules.
        await app.listen({ host: options.host === 'localhost' ? '127.0.0.1' : options.host, port })
      } catch (cause) {
        throw cannotListen(cause, options.host, port)
      }
      return address()!
    },
    close() {
      closing ??= closeWithin(app, options.closeGraceMs ?? 10_000)
      return closing
    },
  }
}

async function closeWithin(app: FastifyInstance, graceMs: number): Promise<void> {
  const deadline = setTimeout(() => app.server.closeAllConnections(), graceMs)
  // A connection that was busy at first stays open after its answer unless somebody closes it.
  const sweep = setInterval(() => app.server.closeIdleConnections(), 20)
  try {
    await app.close()
  } finally {
    clearTimeout(deadline)
    clearInterval(sweep)
  }
}

function cannotListen(cause: unknown, host: string, port: number): unknown {
  const code = (cause as NodeJS.ErrnoException | null)?.code
  const reasons: Record<string, [string, string]> = {
    EADDRINUSE: [
      `Port ${port} of ${host} is already in use`,
      'Stop the other process, or set LONGSHORE_PORT to another port (0 picks a free one).',
    ],
    EACCES: [`Port ${port} may not be used by this user`, 'Set LONGSHORE_PORT to a port from 1024 up.'],
    EADDRNOTAVAIL: [`${host} is no address of this machine`, 'Set LONGSHORE_HOST to 127.0.0.1 or 0.0.0.0.'],
    ENOTFOUND: [`${host} is no known host name`, 'Set LONGSHORE_HOST to 127.0.0.1 or 0.0.0.0.'],
  }
  const reason = code === undefined ? undefined : reasons[code]
  return reason === undefined ? cause : new AppError('unavailable', reason[0], { details: reason[1], cause })
}
