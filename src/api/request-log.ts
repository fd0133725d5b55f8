import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Log } from '../log.ts'
import { describeForLog } from './error-response.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The error of this request, for its log line. */
    failure: unknown
  }
  interface FastifyContextConfig {
    /** Not logged as an error: a 503 of a probe is a normal status. */
    quiet?: boolean
  }
}

/**
 * One line per request: method, route (never the address, which may hold a secret), status, duration in ms,
 * request id. Debug, or error for a 5xx, with the private cause. `left`: the caller disconnected before the response.
 */
export function logRequest(log: Log, request: FastifyRequest, reply: FastifyReply, left = false): void {
  const expected = reply.statusCode === 503 && request.routeOptions.config?.quiet === true
  const failed = reply.statusCode >= 500 && !expected
  if (!failed && !log.isLevelEnabled('debug')) return
  const line = {
    method: request.method,
    route: request.is404 ? null : (request.routeOptions.url ?? null),
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 100) / 100,
    requestId: request.id,
    ...(left ? { left } : {}),
  }
  if (!failed) log.debug(line, 'request')
  else
    log.error(
      { ...line, cause: request.failure == null ? undefined : describeForLog(request.failure) },
      'request failed',
    )
}
