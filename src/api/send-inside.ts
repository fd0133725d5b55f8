import type { FastifyInstance, InjectOptions } from 'fastify'
import type { HttpSend } from '../client/http-send.ts'

/** A call may wait for the single writer of the store; more than a minute means a hang. */
const longestMs = 60_000

/**
 * Serves a request that this process makes to itself: all routes, hooks and checks, without a connection, which costs
 * more than most reads.
 */
export function sendInside(app: FastifyInstance, limitMs = longestMs): HttpSend {
  return async (url, { method, headers, body, signal }) => {
    signal?.throwIfAborted()
    const limit = AbortSignal.timeout(limitMs)
    const answer = await app.inject({
      method: method as InjectOptions['method'],
      url,
      headers,
      // `/mcp` passes on the address of its own caller.
      remoteAddress: headers['x-forwarded-for'] ?? '127.0.0.1',
      ...(body === null ? {} : { payload: body }),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    })
    return {
      status: answer.statusCode,
      header(name) {
        const value = answer.headers[name]
        return Array.isArray(value) ? value[0] : value?.toString()
      },
      text: answer.payload,
    }
  }
}
