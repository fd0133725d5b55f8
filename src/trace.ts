import { randomFillSync } from 'node:crypto'

const pattern = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?$/
const randomBytes = 24

/** Random bytes for many ids: one call of the generator for each request would be slow. */
const pool = Buffer.alloc(randomBytes * 256)
let used = pool.length

/** Whether this is a `traceparent` header as W3C Trace Context defines it. */
export function isTraceparent(value: string): boolean {
  return pattern.test(value) && (value.length === 55 || !value.startsWith('00'))
}

/** A `traceparent` that starts a new trace. */
export function newTraceparent(): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const text = pool.toString('hex', used, used + randomBytes)
  used += randomBytes
  return `00-${text.slice(0, 32)}-${text.slice(32)}-01`
}

/** The trace id of a valid `traceparent`. */
export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35)
}

/** The span id of a valid `traceparent`. */
export function spanIdOf(traceparent: string): string {
  return traceparent.slice(36, 52)
}

/** A `traceparent` of the same trace with a new span, for a request that a call causes. */
export function childOf(traceparent: string): string {
  return `00-${traceIdOf(traceparent)}-${spanIdOf(newTraceparent())}-01`
}

/** The span of a call: one in the trace that the caller names, or the first of a new trace. */
export function spanIn(given: unknown): string {
  return typeof given === 'string' && isTraceparent(given) ? childOf(given) : newTraceparent()
}

/** A part of a trace that is over. */
export interface Span {
  name: string
  kind: 'server' | 'internal'
  traceId: string
  /** Null: any. */
  spanId: string | null
  /** Null: it begins the trace. */
  parentSpanId: string | null
  /** Wall time in milliseconds. */
  startMs: number
  endMs: number
  failed: boolean
  attributes: Record<string, string | number | boolean>
}

/** Takes spans that are over; never throws and never waits. */
export interface SpanSink {
  add(span: Span): void
}

/** The span ids of a call and of its parent. */
export function spanIds(
  traceparent: string,
  given: unknown,
): Pick<Span, 'traceId' | 'spanId' | 'parentSpanId'> {
  const isGiven = typeof given === 'string' && isTraceparent(given)
  const parentSpanId = isGiven ? spanIdOf(given) : null
  return { traceId: traceIdOf(traceparent), spanId: spanIdOf(traceparent), parentSpanId }
}
