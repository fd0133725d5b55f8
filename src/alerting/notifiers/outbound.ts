import type { Agent } from 'undici'
import type { Clock } from '../../clock.ts'
import { retryAfterMs } from '../../retry-after.ts'
import { createDial, type DialOptions, dialFailure } from './dial.ts'
import type { NotifyResult } from './notifier.ts'

interface OutboundRequest {
  url: string
  method: 'POST' | 'PUT'
  headers: Record<string, string>
  body: string
  /** The operator's own address, which may be private; never a tenant's. */
  trusted?: boolean
}

export type Outbound = (request: OutboundRequest) => Promise<NotifyResult>

const mostAnswerBytes = 64 * 1024
/** A receiver that requests a longer wait is tried after this one. */
const longestRequestedMs = 3_600_000

/**
 * The client for addresses that tenants choose (docs/interface.md#outbound-requests): resolves the name, checks every
 * address, connects to the checked one and verifies the connection, follows no redirects, has one deadline, and
 * reports only the status of the response.
 */
export function createOutbound(options: DialOptions): Outbound {
  const { clock, deadlineMs } = options
  const dial = createDial(options)
  return async (wanted) => {
    try {
      return await dial(wanted, (agent, url, signal) => send(agent, url, wanted, signal, clock))
    } catch (error) {
      const { message: reason, retry } = dialFailure(error, deadlineMs)
      return { ok: false, retry, reason }
    }
  }
}

async function send(
  agent: Agent,
  url: URL,
  wanted: OutboundRequest,
  signal: AbortSignal,
  clock: Clock,
): Promise<NotifyResult> {
  const { request } = await import('../../http-client.ts')
  const answer = await request(url, {
    method: wanted.method,
    headers: { 'user-agent': 'Longshore', ...wanted.headers },
    body: wanted.body,
    dispatcher: agent,
    signal,
  })
  await answer.body.dump({ limit: mostAnswerBytes, signal }).catch(() => {})
  return answerResult(answer.statusCode, answer.headers['retry-after'], clock.wallMs())
}

/** Which statuses mean "delivered", "retry" and "give up" (docs/interface.md#notifications). */
export function answerResult(
  status: number,
  retryAfter: string | string[] | undefined,
  nowMs: number,
): NotifyResult {
  if (status >= 200 && status < 300) return { ok: true }
  if (status >= 300 && status < 400) {
    return { ok: false, retry: false, reason: `the receiver answered ${status}; redirects are not followed` }
  }
  const retry = status === 408 || status === 429 || status >= 500
  const requestedMs = retry ? retryAfterMs(retryAfter, nowMs) : null
  const reason = `the receiver answered ${status}`
  return {
    ok: false,
    retry,
    reason,
    ...(requestedMs === null ? {} : { retryAfterMs: Math.min(requestedMs, longestRequestedMs) }),
  }
}
