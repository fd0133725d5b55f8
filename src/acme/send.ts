import { readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'
import type { Clock } from '../clock.ts'
import { jsonOrNull } from '../json-or-null.ts'
import { readUpTo } from '../read-up-to.ts'
import { retryAfterMs } from '../retry-after.ts'
import { AcmeError } from './error.ts'

export interface AcmeAnswer {
  status: number
  headers: Readonly<Record<string, string | undefined>>
  text: string
  /** Null if the text is not JSON. */
  json: unknown
  retryAfterMs: number | null
}

export type AcmeSend = (request: {
  url: string
  method: 'GET' | 'HEAD' | 'POST'
  body?: string
}) => Promise<AcmeAnswer>

const deadlineMs = 30_000
const mostBytes = 1_048_576

/** The HTTP client of a certificate authority. `caFile`: PEM file with roots that are trusted beside those of Node. */
export function acmeSend({ caFile, clock }: { caFile: string | undefined; clock: Clock }): AcmeSend {
  return async ({ url, method, body }) => {
    if (!url.startsWith('https://')) throw new AcmeError('malformed', 'An address is not https.')
    const { Agent, request } = await import('../http-client.ts')
    const ca = caFile === undefined ? {} : { ca: [...rootCertificates, readFileSync(caFile, 'utf8')] }
    const agent = new Agent({ connect: ca, headersTimeout: deadlineMs, bodyTimeout: deadlineMs })
    const signal = AbortSignal.timeout(deadlineMs)
    const headers = {
      'user-agent': 'Longshore',
      'accept-language': 'en',
      ...(body === undefined ? {} : { 'content-type': 'application/jose+json' }),
    }
    try {
      const options = { method, headers, dispatcher: agent, signal, ...(body === undefined ? {} : { body }) }
      const answer = await request(url, options)
      const received = await readUpTo(answer.body, mostBytes)
      if (received === null) throw new AcmeError('malformed', 'An answer is too large.')
      return answerOf(answer.statusCode, answer.headers, received.toString('utf8'), clock.wallMs())
    } catch (error) {
      if (error instanceof AcmeError) throw error
      const { code, message } = error as NodeJS.ErrnoException
      throw new AcmeError('connection', `The certificate authority does not answer (${code ?? message}).`)
    } finally {
      void agent.destroy()
    }
  }
}

function answerOf(
  status: number,
  given: Record<string, string | string[] | undefined>,
  text: string,
  nowMs: number,
): AcmeAnswer {
  const headers = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
  )
  // A certificate is not JSON.
  const json = jsonOrNull(text)
  return { status, headers, text, json, retryAfterMs: retryAfterMs(headers['retry-after'], nowMs) }
}
