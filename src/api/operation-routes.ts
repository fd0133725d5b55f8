import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { apiPrefix, isRead, type Operation } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import { hostNameOf } from '../host-check.ts'
import type { Call, OperationRunner, Reply } from '../operations/core/call.ts'
import { checkInput } from '../operations/core/check-input.ts'
import { shownWord } from '../operations/core/mask-tokens.ts'
import { type SpanSink, spanIds } from '../trace.ts'
import { callHeaders } from './authenticate.ts'
import { type CredentialReader, isHttps, notModified } from './console-credential.ts'
import { type BodyLimits, hasBody, readJsonBody, refuseHostileText } from './json-body.ts'
import { type Query, queryReader } from './query-input.ts'

/** Adds one route for each row: authenticate, read and check the input, run, send the response. */
export function addOperationRoutes(
  app: FastifyInstance,
  operations: readonly Operation[],
  runner: OperationRunner,
  limits: BodyLimits,
  credentialOf: CredentialReader,
  spans?: SpanSink,
): void {
  checkRows(operations)
  app.decorateRequest('credential')
  const stopping = new AbortController()
  app.addHook('preClose', async () => stopping.abort())
  for (const row of operations) {
    const readInput = inputReader(row, limits)
    app.route({
      method: row.method,
      url: apiPrefix + row.path,
      // Before the input is read, so that bad input without a valid token gets 401 (A5).
      onRequest: async (request: FastifyRequest) => {
        const found = await credentialOf(request.headers)
        const by = { address: request.ip, reads: row.method === 'GET', credential: found.credential }
        request.credential = { ...found, principal: await runner.authenticate(found.token, by) }
      },
      handler: async (request: FastifyRequest, reply: FastifyReply) => {
        const { surface, ...headers } = callHeaders(row, request.headers)
        const input = checkInput(row, await readInput(request))
        const { token, credential, principal } = request.credential
        const inConsole = credential === 'session'
        const run = traced(spans, row, request.headers.traceparent)
        const answer = await run(runner, {
          operation: row,
          input,
          token,
          credential,
          principal,
          surface: inConsole ? 'console' : surface,
          ...headers,
          ...(input.waitSeconds ? { signal: untilGone(reply, stopping.signal) } : {}),
          clientAddress: request.ip,
          requestedUrl: requestedUrl(request.headers),
        })
        if (inConsole && isRead(row) && notModified(request, reply, answer.body))
          return reply.code(304).send()
        return reply.code(answer.status).send(answer.body)
      },
    })
  }
}

/** Aborts a wait when the caller has left, or the server stops. */
function untilGone({ raw }: FastifyReply, stopping: AbortSignal): AbortSignal {
  const gone = new AbortController()
  raw.once('close', () => gone.abort())
  return AbortSignal.any([gone.signal, stopping])
}

/** Runs a call and reports its span; `given` is the caller's `traceparent`. */
function traced(spans: SpanSink | undefined, { id, method, path }: Operation, given: unknown) {
  return async (runner: OperationRunner, call: Call): Promise<Reply> => {
    if (spans === undefined) return runner.run(call)
    const startMs = Date.now()
    let failed = true
    try {
      const reply = await runner.run(call)
      failed = false
      return reply
    } finally {
      const route = { 'http.request.method': method, 'http.route': apiPrefix + path }
      const attributes = { ...route, 'longshore.operation': id, 'longshore.surface': call.surface }
      const times = { startMs, endMs: Date.now() }
      spans.add({
        ...spanIds(call.traceparent, given),
        name: id,
        kind: 'server',
        ...times,
        failed,
        attributes,
      })
    }
  }
}

/** The address at which the caller reached this server; `/mcp` passes on that of its own caller. */
function requestedUrl(headers: IncomingHttpHeaders): string | undefined {
  const name = headers['x-forwarded-host'] ?? headers.host
  return typeof name === 'string' && hostNameOf(name) !== null
    ? `${isHttps(headers) ? 'https' : 'http'}://${name.toLowerCase()}`
    : undefined
}

/** Fails the start for a row without a policy, with a loose input or a duplicate address. */
function checkRows(operations: readonly Operation[]): void {
  const taken = new Set<string>()
  for (const row of operations) {
    const address = `${row.method} ${row.path}`
    if (taken.has(address)) throw new Error(`${row.id}: ${address} already belongs to another operation`)
    taken.add(address)
    if (row.policy === undefined) throw new Error(`${row.id} has no policy`)
    if (!(row.input.def.catchall instanceof z.ZodNever)) {
      throw new Error(`${row.id}: its input must be a strict object, so that unknown keys are rejected`)
    }
  }
}

type InputReader = (request: FastifyRequest) => Record<string, unknown> | Promise<Record<string, unknown>>

function inputReader(row: Operation, limits: BodyLimits): InputReader {
  if (row.method !== 'GET' && row.method !== 'DELETE') {
    return (request) => {
      refuseQuery(request.query as Query, row.method)
      return readJsonBody(request.raw, limits)
    }
  }
  const read = queryReader(row)
  return (request) => {
    refuseBody(request, row.method)
    const query = request.query as Query
    for (const value of Object.values(query)) {
      if (typeof value === 'string') refuseHostileText(value)
      else value.forEach(refuseHostileText)
    }
    return read(query)
  }
}

/** Rejects input that would be ignored, because the caller expects it to have an effect. */
function refuseQuery(query: Query, method: string): void {
  const key = Object.keys(query)[0]
  if (key === undefined) return
  throw new AppError('invalid', 'Invalid request', {
    details: `unknown key ${shownWord(key)} in the query string: ${method} takes its input from the JSON body`,
  })
}

function refuseBody(request: FastifyRequest, method: string): void {
  if (!hasBody(request.raw)) return
  throw new AppError('invalid', 'Invalid request', {
    details: `${method} takes its input from the query string; send no body`,
  })
}
