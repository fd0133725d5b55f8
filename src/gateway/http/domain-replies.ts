import type { Challenge } from '../control/protocol.ts'
import type { RequestScheduler } from '../routing/request-scheduler.ts'
import { bareHost, findByHost } from '../routing/route-table.ts'
import { forwardingOf } from './forwarding.ts'
import type { LocalReply } from './local-reply.ts'
import type { RequestClient } from './request-client.ts'
import type { RequestHead } from './request-head.ts'

const challengePath = '/.well-known/acme-challenge/'

/** The replies to HTTP-01 challenges, by host and path. */
export function challengeAnswers(challenges: readonly Challenge[]): Map<string, LocalReply> {
  return new Map(
    challenges.flatMap((one) => {
      if (one.type !== 'http-01') return []
      const reply = { status: 200, error: '', details: '', text: one.keyAuthorization }
      return [[`${one.domain}${challengePath}${one.token}`, reply]]
    }),
  )
}

/** The reply to a certificate authority; null: it is another request. */
export function challengeReply({ context }: RequestClient, { host, target }: RequestHead): LocalReply | null {
  if (context.challenges.size === 0) return null
  return context.challenges.get(bareHost(host) + target) ?? null
}

/** The redirect of a request by http to a domain with a certificate; null: serve it. */
export function redirectToTls(
  client: RequestClient,
  { secure }: RequestScheduler,
  head: RequestHead,
): LocalReply | null {
  if (secure === null || !findByHost(secure, head.host)?.redirect) return null
  if (isSecure(client, head) || head.target.startsWith(challengePath)) return null
  const { tlsPort } = client.context
  // A client that needs no port for http needs none for https either.
  const port = /:(?!80?$)\d+$/.test(head.host) && tlsPort !== null ? `:${tlsPort}` : ''
  const location = `https://${bareHost(head.host)}${port}${head.target === '*' ? '/' : head.target}`
  return { status: 308, error: 'Permanent Redirect', details: '', text: '', location }
}

/** Whether the response has to tell browsers to use https only. */
export function sendsHsts(client: RequestClient, { secure }: RequestScheduler, head: RequestHead): boolean {
  return secure !== null && findByHost(secure, head.host)?.hsts === true && isSecure(client, head)
}

function isSecure({ peer, context }: RequestClient, head: RequestHead): boolean {
  return forwardingOf(head, peer, context.trusted).isSecure
}
