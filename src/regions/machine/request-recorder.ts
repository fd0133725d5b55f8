import type { LoggedRequest } from '../../contract/app-env-reads.ts'
import { cutMark } from '../../domain/environments/log-lines.ts'
import { requestLine } from '../../domain/environments/request-line.ts'
import type { Mask } from '../../domain/environments/secret-masker.ts'
import type { LogStore } from '../../files/log-store.ts'
import type { RequestBatch, RequestRecord } from '../../gateway/control/request-record.ts'
import type { Log } from '../../log.ts'
import type { Db } from '../../store/db.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { listLivePods } from '../../store/repositories/rollouts.ts'
import { newTraceparent, type Span, type SpanSink, traceIdOf } from '../../trace.ts'
import type { LogMasks } from '../logs/masks.ts'
import { containerNameOf } from '../rollouts/container-spec.ts'

interface RequestRecorderDeps {
  db: Db
  logs: LogStore
  masks: LogMasks
  log: Log
  /** Gets a span for each request. */
  spans?: SpanSink | null
}

/** Reports of the gateway that may wait; the store is too slow if there are more, and newer ones are dropped. */
const mostWaiting = 10

/**
 * How long making masks may take for one report of the gateway, which comes once a second. Strangers cause requests,
 * and tenants choose how large the secrets are: environments beyond this are not logged until the next report.
 */
const mostMaskingMs = 200

/** Keeps the requests that the gateway logged, with secret variables masked as in other logs. */
export class RequestRecorder {
  readonly #deps: RequestRecorderDeps
  #last: Promise<void> = Promise.resolve()
  #waiting = 0

  constructor(deps: RequestRecorderDeps) {
    this.#deps = deps
  }

  take(batches: readonly RequestBatch[]): void {
    const { log } = this.#deps
    if (this.#waiting >= mostWaiting) {
      const requests = batches.reduce((sum, { records }) => sum + records.length, 0)
      log.warn({ requests }, 'the request log is not keeping up; dropping requests')
      return
    }
    this.#waiting += 1
    this.#last = this.#last
      .then(() => this.#record(batches))
      .catch((error) => log.warn({ err: error }, 'requests could not be logged; dropping them'))
      .finally(() => {
        this.#waiting -= 1
      })
  }

  /** Resolves when everything taken so far is in the log store. */
  settled(): Promise<void> {
    return this.#last
  }

  async #record(batches: readonly RequestBatch[]): Promise<void> {
    const { masks, log } = this.#deps
    const startMs = masks.spentMs
    // Each report begins with another environment, so that none is left out permanently.
    const first = Math.floor(Math.random() * batches.length)
    for (const [index, { appEnvId, records }] of [
      ...batches.slice(first),
      ...batches.slice(0, first),
    ].entries()) {
      if (masks.spentMs - startMs > mostMaskingMs) {
        log.warn(
          { environments: batches.length - index },
          'masking secrets takes too long; dropping requests',
        )
        return
      }
      const found = await this.#deps.db.read(async (tx) => {
        const environment = await findEnvironment(tx, { appEnvId })
        return environment && { environment, pods: await listLivePods(tx, appEnvId) }
      })
      // Deleted meanwhile: its log must not come back.
      if (!found) continue
      const { currentRolloutId } = found.environment
      const origin = currentRolloutId === null ? null : { rolloutId: currentRolloutId }
      const mask = await masks.of(appEnvId, origin)
      const pods = new Map(found.pods.map((pod) => [containerNameOf(pod), pod]))
      const lines = records.map((record) => {
        const pod = record.container === null ? undefined : pods.get(record.container)
        const request = loggedRequest(record, mask)
        this.#deps.spans?.add(spanOf(record, request, found.environment))
        return {
          at: new Date(record.endedMs).toISOString(),
          stream: 'stdout' as const,
          type: 'REQUEST' as const,
          podName: pod?.name ?? record.container,
          contentId: pod?.contentId ?? null,
          message: requestLine(request),
          request,
        }
      })
      this.#deps.logs.append(appEnvId, lines)
    }
  }
}

/** A request as a span of its trace; method and path are masked as in the log. */
function spanOf(
  { endedMs, traceId, spanId, parentSpanId }: RequestRecord,
  request: LoggedRequest,
  { appEnvId, cliEnvName }: { appEnvId: string; cliEnvName: string },
): Span {
  const { method, path, status, durationMs, refused, coldStart, oneIn } = request
  return {
    name: `${method} ${cliEnvName}`,
    kind: 'server',
    traceId: traceId ?? traceIdOf(newTraceparent()),
    spanId,
    parentSpanId,
    startMs: endedMs - durationMs,
    endMs: endedMs,
    failed: status === null || status >= 500,
    attributes: {
      'http.request.method': method,
      'url.path': path,
      ...(status === null ? {} : { 'http.response.status_code': status }),
      ...(refused === null ? {} : { 'longshore.refused': refused }),
      'longshore.app_env_id': appEnvId,
      'longshore.cold_start': coldStart,
      'longshore.one_in': oneIn,
    },
  }
}

function loggedRequest(record: RequestRecord, mask: Mask): LoggedRequest {
  const { status, durationMs, firstByteMs, coldStart, bytesIn, bytesOut, refused, traceId, oneIn } = record
  const { stream, cut, clientAddress } = record
  return {
    method: mask(record.method),
    path: maskedPath(record.path, mask),
    status: status === 0 ? null : status,
    durationMs: rounded(durationMs),
    firstByteMs: firstByteMs === null ? null : rounded(firstByteMs),
    coldStart,
    bytesIn,
    bytesOut,
    refused,
    stream,
    cut,
    clientAddress,
    traceId,
    oneIn: rounded(oneIn),
  }
}

/** The gateway cuts long paths, so that the end may be the beginning of a secret. */
function maskedPath(path: string, mask: Mask): string {
  if (!path.endsWith('…')) return mask(path)
  const masked = mask(`${path.slice(0, -1)}${cutMark}`)
  return masked.endsWith(cutMark) ? `${masked.slice(0, -cutMark.length)}…` : masked
}

/** Tenths are exact enough: of milliseconds, and of requests that a line stands for. */
function rounded(value: number): number {
  return Math.round(value * 10) / 10
}
