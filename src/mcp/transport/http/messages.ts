import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { shapeProblem } from '../../../json-shape.ts'
import { yieldForLarge } from '../../../pacer.ts'
import { hasBatches, isRpcMessage, type RequestId } from '../json-rpc.ts'
import type { JSONRPCMessage } from '../server.ts'
import { type Refusal, readBody } from './guards.ts'
import type { McpHttpLimits } from './options.ts'
import { notAcceptable, notJson, tooLarge } from './refusals.ts'

/** True for an `initialize` of a client that declares elicitation. */
export function canElicit(message: JSONRPCMessage): boolean {
  if (!('method' in message) || message.method !== 'initialize') return false
  const { capabilities } = (message.params ?? {}) as { capabilities?: { elicitation?: unknown } }
  return typeof capabilities?.elicitation === 'object' && capabilities.elicitation !== null
}

/** Whether a client of this version supports the empty first event of a stream, which only carries an id. */
export function knowsPriming(message: JSONRPCMessage): boolean {
  const { protocolVersion } = ('params' in message ? message.params : {}) as { protocolVersion?: unknown }
  return typeof protocolVersion === 'string' && protocolVersion >= '2025-11-25'
}

type ProtocolRefusal = { refusal: { code: number; message: string } }
type Parsed = { messages: JSONRPCMessage[]; isBatch: boolean } | ProtocolRefusal

const mostMessages = 32

/** The body of a POST; `gone` if the client disconnected or was too slow. */
export async function readPost(
  req: IncomingMessage,
  { bodyBytes, bodyMs }: McpHttpLimits,
): Promise<Buffer | Refusal | 'gone'> {
  if (streamingOf(req.headers.accept) === null) return notAcceptable
  if (!/^application\/json\s*(?:;|$)/i.test(req.headers['content-type'] ?? '')) return notJson
  const body = await readBody(req, { bytes: bodyBytes, ms: bodyMs })
  if (Buffer.isBuffer(body)) await yieldForLarge(body)
  return body === 'too large' ? tooLarge(bodyBytes) : body
}

/** A body as JSON, whatever its era. */
export function parseBody(body: Buffer): { value: unknown } | ProtocolRefusal {
  // Decoding would replace invalid UTF-8, in a secret too.
  if (!isUtf8(body)) return { refusal: { code: -32700, message: 'Parse error: the body is not UTF-8 text' } }
  const problem = shapeProblem(body)
  if (problem) return { refusal: { code: -32600, message: `Invalid request: the body ${problem}` } }
  try {
    return { value: JSON.parse(body.toString('utf8')) }
  } catch {
    return { refusal: { code: -32700, message: 'Parse error: the body is not JSON' } }
  }
}

/** The messages of a body: one, or an array in a `revision` that has batches. */
export function messagesOf(value: unknown, revision: unknown): Parsed {
  const isBatch = Array.isArray(value)
  if (isBatch && !hasBatches(revision)) {
    return { refusal: { code: -32600, message: `Invalid request: revision ${revision} has no batches` } }
  }
  const messages = isBatch ? (value as unknown[]) : [value]
  if (messages.length === 0 || messages.length > mostMessages || !messages.every(isRpcMessage)) {
    return { refusal: { code: -32600, message: 'Invalid request: not a JSON-RPC 2.0 message' } }
  }
  const known = messages as JSONRPCMessage[]
  const ids = requestIdsOf(known)
  if (new Set(ids).size !== ids.length) {
    return {
      refusal: { code: -32600, message: 'Invalid request: two requests of the batch have the same id' },
    }
  }
  return { messages: known, isBatch }
}

/** Answers 400 with a JSON-RPC error without a request id. */
export function answerProtocolError(res: ServerResponse, error: { code: number; message: string }): void {
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error })
  res.writeHead(400, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
  res.end(body)
}

/** Ids of the messages that expect a response. */
export function requestIdsOf(messages: readonly JSONRPCMessage[]): RequestId[] {
  return messages.flatMap((message) => ('method' in message && 'id' in message ? [message.id] : []))
}

/** Whether the client accepts a stream, from its Accept header; null if it accepts nothing that this server can send. */
export function streamingOf(accept: string | undefined): 'allowed' | 'required' | 'refused' | null {
  const takes = (type: string) => accept === undefined || accept.includes(type) || accept.includes('*/*')
  const json = takes('application/json') || (accept?.includes('application/*') ?? false)
  const stream = takes('text/event-stream')
  if (json) return stream ? 'allowed' : 'refused'
  return stream ? 'required' : null
}
