import { connect } from 'node:net'
import { Writable } from 'node:stream'
import pino from 'pino'
import { type ApiServer, type ApiServerOptions, createApiServer } from '../../src/api/server.ts'
import { operations } from '../../src/contract/index.ts'
import { AppError } from '../../src/errors.ts'
import type { Call, OperationRunner, Reply } from '../../src/operations/core/call.ts'

export const goodToken = `lsu_${'a'.repeat(43)}123456`
export const base = '/api/public/v1'

export interface ScriptedServer {
  server: ApiServer
  url: string
  port: number
  /** The calls that reached the operations. */
  calls: Call[]
  /** The log so far, as text. */
  logged: () => string
  /** Decides the next answers; the default is 200 `{}`. */
  answer: { run: (call: Call) => Reply | Promise<Reply> }
}

/** A server on a free port whose operations answer as the test says; one token is good. */
export async function startScripted(overrides: Partial<ApiServerOptions> = {}): Promise<ScriptedServer> {
  const calls: Call[] = []
  const answer: ScriptedServer['answer'] = { run: () => ({ status: 200, body: '{}' }) }
  const runner: OperationRunner = {
    async authenticate(token) {
      if (token !== goodToken) {
        throw new AppError('unauthenticated', 'User not authenticated', { details: 'Send a valid token.' })
      }
      return 'usr_1'
    },
    async run(call) {
      calls.push(call)
      return answer.run(call)
    },
  }
  const lines: string[] = []
  const sink = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const server = createApiServer({
    operations,
    runner,
    uploads: { receive: async () => {} },
    readiness: async () => ({ ready: true, problems: [] }),
    metricsText: () => 'longshore_up 1\n',
    host: '127.0.0.1',
    log: pino({ level: 'trace' }, sink),
    ...overrides,
  })
  const { url, port } = await server.listen(0)
  return { server, url, port, calls, answer, logged: () => lines.join('') }
}

interface Answer {
  status: number
  headers: Headers
  json: { error?: string; details?: string; [key: string]: unknown }
}

/** A call with the good token; `body` objects are sent as JSON. */
export async function send(
  to: ScriptedServer,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(to.url + path, {
    method,
    headers: {
      authorization: goodToken,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, json: text === '' ? {} : JSON.parse(text) }
}

/** Writes bytes to the server and collects the response until it closes, or until `enough` returns true. */
export function raw(
  port: number,
  bytes: string | Buffer,
  enough?: (text: string) => boolean,
): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes))
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      if (enough?.(text)) socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
  })
}

export const bodyOf = (response: string) => JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4))

export const environment = { appEnvId: 'env_1' }

/** Polls until the condition holds; the test's own time limit ends it. */
