import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { rememberClient } from '../client-address.ts'
import type { Log } from '../log.ts'
import { describeForLog, errorResponse } from './error-response.ts'
import { writeResponse } from './raw-errors.ts'

export interface McpHandler {
  (request: IncomingMessage, response: ServerResponse): unknown
  /** What hosts read before they connect, for anybody. */
  documents?: readonly { path: string; type: string; text(origin: string): string }[]
}

/** Hands requests to `/mcp` over as they are. */
export function addMcpRoute(
  app: FastifyInstance,
  mcp: McpHandler,
  { log, originOf }: { log: Log; originOf(host: string | undefined): string },
): void {
  for (const { path, type, text } of mcp.documents ?? []) {
    app.get(path, async ({ headers }, reply) => reply.type(type).send(text(originOf(headers.host))))
  }
  app.all('/mcp', {
    onRequest: (request, reply) => {
      const { raw } = reply
      raw.setHeader('x-request-id', request.id)
      raw.setHeader('cache-control', 'no-store')
      raw.setHeader('x-content-type-options', 'nosniff')
      reply.hijack()
      Promise.resolve()
        .then(() => {
          rememberClient(request.raw, request.ip)
          return mcp(request.raw, raw)
        })
        .catch((error: unknown) => {
          request.failure = error
          if (!raw.headersSent) return answerRaw(raw, error, request.id)
          log.error(
            { requestId: request.id, cause: describeForLog(error) },
            'response to /mcp was interrupted',
          )
          raw.destroy()
        })
    },
    handler: () => {},
  })
}

function answerRaw(raw: ServerResponse, error: unknown, requestId: string): void {
  const { status, headers, body } = errorResponse(error, requestId)
  writeResponse(raw, status, headers, body)
}
