import { traceIdOf } from '../../trace.ts'
import type { Call } from './call.ts'
import type { Caller } from './caller.ts'

/** Where a call came from, as an audit entry records it. */
export function originOf({ token }: Caller, call: Call) {
  const { surface, agentSession, agent, traceparent, approval, clientAddress, confirmedBy, chat } = call
  return {
    surface,
    tokenId: token.tokenId || null,
    sessionId: agentSession ?? null,
    traceId: traceIdOf(traceparent),
    clientAddress: clientAddress || null,
    approvalId: approval ?? null,
    remediationRunId: token.access.remediation?.runId ?? null,
    agent: token.agent ?? agent ?? null,
    confirmedBy: confirmedBy ?? null,
    chat: chat ?? null,
  }
}
