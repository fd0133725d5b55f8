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
