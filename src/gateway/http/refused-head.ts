import type { RequestScheduler } from '../routing/request-scheduler.ts'
import type { Handoff } from './proxy-context.ts'
import { unservedRequest } from './request-account.ts'
import type { RequestClient } from './request-client.ts'
import { maxHeadBytes, type RequestRefused } from './request-head.ts'

/** The parts of a refused head that say whose request it was. */
interface ClaimedRequest {
  method: string
  target: string
  host: string
}

/**
 * Counts and logs a request whose head the gateway refuses, in the environment that it names. Returns the handoff if
 * another process serves that environment.
 */
export function recordRefusedHead(
  client: RequestClient,
  data: Buffer,
  refused: RequestRefused,
): Handoff | null {
  const request = claimedRequest(data)
  if (!request) return null
  const { context, peer } = client
  const environment = context.table.find(request.host)
  if (!environment) return context.elsewhere(request.host)
  record(environment, { ...request, clientAddress: peer.address }, refused)
  return null
}

function record(
  environment: RequestScheduler,
  request: ClaimedRequest & { clientAddress: string },
  { status, message }: RequestRefused,
): void {
  environment.refusedHead(status)
  environment.requests?.add(
    { status, durationMs: 0, refused: message },
    unservedRequest({ ...request, traceparent: null, isOwnTrace: false }),
  )
}

/** Null without a request line, or with none or several hosts. */
function claimedRequest(data: Buffer): ClaimedRequest | null {
  const text = data.toString('latin1', 0, Math.min(data.length, maxHeadBytes))
  const line = /^(?:\r\n)*([!-~]+) (\S+) HTTP\/[0-9.]+\r\n/.exec(text)
  const hosts = [...text.matchAll(/\r\nhost:[ \t]*([a-z0-9._:-]{1,260})[ \t]*(?=\r\n)/gi)]
  if (!line || hosts.length !== 1) return null
  return { method: line[1]!, target: line[2]!, host: hosts[0]![1]!.toLowerCase() }
}
