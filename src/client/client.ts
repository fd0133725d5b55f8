import { randomUUID } from 'node:crypto'
import type { ApprovalPendingBody } from '../contract/approvals.ts'
import type { ConfirmedBy } from '../contract/audit.ts'
import { apiPrefix, isRead, type Operation, type OutputOf } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import { errorFromResponse, errorFromTransport } from './answer-error.ts'
import { ApprovalPending } from './approval-pending.ts'
import type { HttpRequest, HttpResponse, HttpSend } from './http-send.ts'

export interface CallOptions {
  signal?: AbortSignal
  /** Sent on writes; generated if omitted, so that a repeat after a lost response has no second effect. */
  idempotencyKey?: string
  /** The trace that the call belongs to, as W3C Trace Context writes it; the platform begins one if omitted. */
  traceparent?: string
  /** How the agent names itself, for the audit log. */
  agent?: string | undefined
  /** Runs all checks without any effect; returns a dry-run response instead of the row's (docs/interface.md#dry-runs). */
  dryRun?: boolean
  /** Changes nothing, and records that the call was refused before the platform. */
  declined?: boolean
  /** What answered the question before the call, for the audit log. */
  confirmedBy?: ConfirmedBy | undefined
}

export interface Client {
  /**
   * Runs one operation. `input` is sent unchanged; the platform fills in defaults. Throws only `AppError`: the platform's
   * error, `unavailable`, or `ApprovalPending` for a write that waits for a person.
   */
  call<Row extends Operation>(
    row: Row,
    input: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<OutputOf<Row>>
}

interface ClientOptions {
  /** Address of the platform, with or without `/api/public/v1`. */
  url: string
  token: string | null
  surface: 'mcp' | 'cli' | 'console'
  /** Names an agent session in the audit log: 1 to 64 letters, digits, _ and -. */
  agentSession?: string | undefined
  /** Host and port at which the original caller reached the platform, if this client calls on their behalf. */
  forwardedHost?: string | undefined
  /** Address of the own caller, for requests inside a process. */
  forwardedFor?: string | undefined
  /** How requests are sent; undici by default. */
  fetchImpl?: HttpSend
}

/** A new name for `agentSession`. */
export function newAgentSession(): string {
  return `ses_${randomUUID().replaceAll('-', '')}`
}

/** The typed REST client: one function for every row of the contract. */
export function createClient(options: ClientOptions): Client {
  const base = apiBase(options.url)
  const headers = commonHeaders(options)
  const send = options.fetchImpl ?? undiciSend
  return {
    async call<Row extends Operation>(
      row: Row,
      input: Readonly<Record<string, unknown>>,
      callOptions: CallOptions = {},
    ): Promise<OutputOf<Row>> {
      const { url, request } = requestFor(base, row, input, headers, callOptions)
      let answer: HttpResponse
      try {
        answer = await send(url, request)
      } catch (error) {
        callOptions.signal?.throwIfAborted()
        throw errorFromTransport(error, base)
      }
      return readResponse(answer, base) as OutputOf<Row>
    },
  }
}

/** `http://host:port/api/public/v1`, from an address with or without the prefix. */
function apiBase(url: string): string {
  const bare = url.replace(/\/+$/, '')
  return bare.endsWith(apiPrefix) ? bare : bare + apiPrefix
}

function commonHeaders(options: ClientOptions): Record<string, string> {
  const headers: Record<string, string> = { accept: 'application/json', 'longshore-surface': options.surface }
  if (options.agentSession !== undefined) headers['longshore-session'] = options.agentSession
  if (options.forwardedHost !== undefined) headers['x-forwarded-host'] = options.forwardedHost
  if (options.forwardedFor !== undefined) headers['x-forwarded-for'] = options.forwardedFor
  if (options.token === null) return headers
  // A token with whitespace is a pasting mistake; keep it out of the header and of the message.
  if (!/^[\x21-\x7e]{1,4096}$/.test(options.token)) {
    throw new AppError('unauthenticated', 'The token cannot be used', {
      details: 'It contains spaces or control characters. Copy it again, complete and on one line.',
    })
  }
  headers.authorization = options.token
  return headers
}

function requestFor(
  base: string,
  row: Operation,
  input: Readonly<Record<string, unknown>>,
  common: Record<string, string>,
  options: CallOptions,
): { url: string; request: HttpRequest } {
  const headers = { ...common }
  if (!isRead(row)) headers['idempotency-key'] = options.idempotencyKey ?? randomUUID()
  // A declined call must have no effect on a platform that does not know the second header either.
  if (options.dryRun === true || options.declined === true) headers['dry-run'] = 'true'
  if (options.declined === true) headers['longshore-declined'] = 'true'
  if (options.confirmedBy !== undefined) headers['longshore-confirmed-by'] = options.confirmedBy
  if (options.traceparent !== undefined) headers.traceparent = options.traceparent
  if (options.agent !== undefined) headers['longshore-agent'] = encodeURIComponent(options.agent)
  const inQuery = row.method === 'GET' || row.method === 'DELETE'
  if (!inQuery) headers['content-type'] = 'application/json'
  return {
    url: base + row.path + (inQuery ? queryOf(input) : ''),
    request: {
      method: row.method,
      headers,
      body: inQuery ? null : jsonOf(input),
      signal: options.signal,
    },
  }
}

/** `JSON.parse` accepts any depth, including in tool calls, but `JSON.stringify` does not. */
function jsonOf(input: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(input)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new AppError('invalid', 'Invalid request', { details: 'The input is nested too deeply.' })
  }
}

function queryOf(input: Readonly<Record<string, unknown>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined || value === null) continue
    for (const item of Array.isArray(value) ? value : [value]) query.append(name, String(item))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

function readResponse(answer: HttpResponse, base: string): unknown {
  let body: unknown
  try {
    body = answer.text === '' ? null : JSON.parse(answer.text)
  } catch {
    body = undefined
  }
  if (answer.status === 202) throw new ApprovalPending(body as ApprovalPendingBody)
  if (answer.status >= 200 && answer.status < 300 && typeof body === 'object' && body !== null) return body
  throw errorFromResponse(answer, body, base)
}

/** Loaded on first use: importing undici costs 90 ms, more than the rest of a start. */
const undiciSend: HttpSend = async (url, request) => {
  sender ??= import('./undici-send.ts').then((module) => module.sendWithUndici)
  return (await sender)(url, request)
}
let sender: Promise<HttpSend> | undefined
