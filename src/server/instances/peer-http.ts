import type { Readable } from 'node:stream'
import { Agent, request } from 'undici'

const agent = new Agent({ connect: { timeout: 2_000 } })
const uploadAgent = new Agent({ connect: { timeout: 2_000 }, headersTimeout: 300_000, bodyTimeout: 300_000 })

/** A call; its answer may take `withinMs`. */
export const post = (url: string, body: string, withinMs: number) =>
  request(url, { method: 'POST', body, dispatcher: agent, signal: AbortSignal.timeout(withinMs) })

/** An upload, which may take long. */
export const put = (url: string, body: Readable, headers: Record<string, string>) =>
  request(url, { method: 'PUT', body, headers, dispatcher: uploadAgent })
