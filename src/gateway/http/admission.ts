import type { RequestScheduler } from '../routing/request-scheduler.ts'
import { challengeReply, redirectToTls } from './domain-replies.ts'
import { pageIdOf } from './error-page.ts'
import { answerTo, type LocalReply } from './local-reply.ts'
import { ProxiedRequest } from './proxied-request.ts'
import { refusedRequest } from './request-account.ts'
import type { RequestClient } from './request-client.ts'
import type { RequestHead } from './request-head.ts'

/** The gateway's own reply to a request; null: pass it on. */
export function replyInstead(
  client: RequestClient,
  environment: RequestScheduler | undefined,
  head: RequestHead,
): LocalReply | null {
  const own = challengeReply(client, head)
  if (own || !environment) return own
  return redirectToTls(client, environment, head) ?? shedRequest(client, environment, head)
}

/** The reply for a request that the environment refuses because of overload, counted and logged; null: admit it. */
function shedRequest(
  client: RequestClient,
  environment: RequestScheduler,
  head: RequestHead,
): LocalReply | null {
  const refusal = environment.shedLoad()
  if (!refusal) return null
  const reply = answerTo(refusal)
  pageIdOf(head)
  environment.requests?.add(
    { status: reply.status, durationMs: 0, refused: reply.error },
    refusedRequest(head, client),
  )
  return reply
}

/** Begins a request; `began` gets it before it has a slot. */
export function admitRequest(
  client: RequestClient,
  head: RequestHead,
  environment: RequestScheduler,
  began: (request: ProxiedRequest) => void,
): void {
  const request = new ProxiedRequest(client, head, environment, client.context.clock.monotonicMs())
  began(request)
  environment.admit(request)
}
