import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { AppError } from '../errors.ts'
import { shapeProblem } from '../json-shape.ts'
import { yieldForLarge } from '../pacer.ts'

export interface BodyLimits {
  bytes: number
  /** How long the whole body may take to arrive, in milliseconds. */
  timeoutMs: number
}

/**
 * Reads and parses the JSON object in a request body; no body is `{}`. Rejects with 400: another content type,
 * malformed JSON or UTF-8, anything but an object, prototype-polluting names, text that a store cannot keep, a body
 * that stops arriving. Too long: 413.
 */
export async function readJsonBody(
  request: IncomingMessage,
  limits: BodyLimits,
): Promise<Record<string, unknown>> {
  if (!hasBody(request)) return {}
  checkContentType(request)
  if (Number(request.headers['content-length']) > limits.bytes) throw tooLarge(limits.bytes)
  const bytes = await readBytes(request, limits)
  await yieldForLarge(bytes)
  return parseJsonObject(bytes)
}

/** Fields of a form; each takes time to parse, however short it is. */
const mostFields = 100

/** Reads the body of an HTML form; no body is an empty form. Rejects as `readJsonBody`. */
export async function readFormBody(request: IncomingMessage, limits: BodyLimits): Promise<URLSearchParams> {
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(type)) {
    throw new AppError('invalid', 'Invalid content type', { details: 'Send the form of the page.' })
  }
  if (Number(request.headers['content-length']) > limits.bytes) throw tooLarge(limits.bytes)
  const bytes = await readBytes(request, limits)
  await yieldForLarge(bytes)
  const text = bytes.toString('utf8')
  let fields = 1
  for (let at = text.indexOf('&'); at >= 0 && fields <= mostFields; at = text.indexOf('&', at + 1))
    fields += 1
  if (fields > mostFields) {
    throw new AppError('invalid', 'Too many fields', { details: `A form has at most ${mostFields} fields.` })
  }
  return new URLSearchParams(text)
}

/** True when the request announces a body of at least one byte. */
export function hasBody(request: IncomingMessage): boolean {
  if (request.headers['transfer-encoding'] !== undefined) return true
  const length = request.headers['content-length']
  return length !== undefined && Number(length) !== 0
}

function checkContentType(request: IncomingMessage): void {
  const type = request.headers['content-type'] ?? ''
  if (!/^application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i.test(type)) {
    throw new AppError('invalid', 'Invalid content type', {
      details: 'Send JSON in UTF-8 with Content-Type: application/json.',
    })
  }
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new AppError('invalid', 'Invalid content encoding', { details: 'Send the JSON uncompressed.' })
  }
}

/** Reads a body up to the limits. Too long: 413; a body that stops arriving: 400. */
export function readBytes(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const timer = setTimeout(() => finish(reject, tooSlow(limits.timeoutMs)), limits.timeoutMs)
    const onData = (chunk: Buffer) => {
      length += chunk.length
      if (length > limits.bytes) finish(reject, tooLarge(limits.bytes))
      else chunks.push(chunk)
    }
    const onEnd = () => finish(resolve, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length))
    const onBroken = () => finish(reject, new AppError('invalid', 'The request was cut off'))
    function finish<T>(how: (value: T) => void, value: T) {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('close', onBroken).off('error', onBroken)
      // The result is already settled; ignore late errors of a broken connection.
      request.on('error', () => {})
      how(value)
    }
    request.on('data', onData).on('end', onEnd).on('close', onBroken).on('error', onBroken)
  })
}

function tooLarge(bytes: number): AppError {
  return new AppError('too-large', 'Request body too large', {
    details: `A JSON body may have at most ${bytes} bytes. Upload files to the address from request-deploy-storage-key.`,
  })
}

function tooSlow(timeoutMs: number): AppError {
  return new AppError('invalid', 'The request body did not arrive', {
    details: `The whole body must arrive within ${timeoutMs / 1000} seconds. Send it again.`,
  })
}

function parseJsonObject(bytes: Buffer): Record<string, unknown> {
  if (bytes.length === 0) return {}
  if (!isUtf8(bytes))
    throw new AppError('invalid', 'Invalid JSON', { details: 'The body must be UTF-8 text.' })
  const problem = shapeProblem(bytes)
  if (problem) throw new AppError('invalid', 'Invalid JSON', { details: `The body ${problem}.` })
  const text = bytes.toString('utf8')
  const value = parseJson(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new AppError('invalid', 'Invalid request', {
      details: 'The body must be a JSON object such as {}.',
    })
  }
  // Only these substrings can contain a rejected name or character, so most bodies skip the walk.
  if (/\\u|__proto__|constructor|prototype/.test(text)) refuseHostileJson(value)
  return value as Record<string, unknown>
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes the body, which may contain secrets.
    throw new AppError('invalid', 'Invalid JSON', {
      details: 'The body is not well-formed JSON. Check quotes, commas and brackets.',
    })
  }
}

const refusedNames: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

/** Checks every name and text. Iterative, because nesting is limited only by the length of the body. */
function refuseHostileJson(root: object): void {
  const waiting: object[] = [root]
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    const isArray = Array.isArray(node)
    for (const [name, value] of Object.entries(node)) {
      if (!isArray && refusedNames.has(name)) {
        throw new AppError('invalid', 'Invalid request', { details: `unknown key ${name}` })
      }
      if (!isArray) refuseHostileText(name)
      if (typeof value === 'string') refuseHostileText(value)
      else if (typeof value === 'object' && value !== null) waiting.push(value)
    }
  }
}

/** Rejects with 400 text that no store keeps unchanged: NUL and half surrogate pairs. */
export function refuseHostileText(text: string): void {
  if (!text.includes('\0') && !/\p{Surrogate}/u.test(text)) return
  throw new AppError('invalid', 'Invalid request', {
    details: 'Text must not contain NUL characters or unpaired surrogates.',
  })
}
