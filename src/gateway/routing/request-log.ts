import type { CutResponse, RequestLogMode, RequestRecord } from '../control/request-record.ts'

/** The parts of a finished request that the log needs; read only if the request is kept. */
export interface FinishedRequest {
  readonly method: string
  readonly target: string
  readonly traceId: string | null
  readonly spanId: string | null
  readonly parentSpanId: string | null
  readonly firstByteMs: number | null
  readonly container: string | null
  readonly coldStart: boolean
  readonly bytesIn: number
  readonly bytesOut: number
  readonly stream: boolean
  readonly cut: CutResponse | null
  readonly clientAddress: string
}

/** The facts that exist for every request. */
interface Outcome {
  status: number
  durationMs: number
  refused: string | null
}

/** Requests of one environment that are kept between two calls of `take`, at most. */
const mostNotable = 30
const mostOrdinary = 20
const slowMs = 1_000
const longestPath = 512
const longestMethod = 16
/** Path parameters such as `;jsessionid=…` may contain the same data as a query. */
const pathParameters = /(?:;|%3b)[^/]*/gi

/** A uniform sample of a stream, in memory for `most` records. */
class Sample {
  most: number
  #seen = 0
  #records: RequestRecord[] = []

  constructor(most: number) {
    this.most = most
  }

  /** The slot for the next request; -1 if it is not kept. */
  slot(): number {
    const index = this.#seen++
    if (index < this.most) return index
    const chosen = Math.floor(Math.random() * this.#seen)
    return chosen < this.most ? chosen : -1
  }

  keep(slot: number, record: RequestRecord): void {
    this.#records[slot] = record
  }

  take(): RequestRecord[] {
    const records = this.#records
    for (const record of records) record.oneIn = this.#seen / records.length
    this.#seen = 0
    this.#records = []
    return records
  }
}

/**
 * The requests of one environment since they were last taken. Failed, refused and slow ones have places of their own,
 * so that a busy environment does not crowd them out. Costs two numbers for a request that is not kept.
 */
export class RequestLog {
  readonly #withQuery: boolean
  readonly #wallMs: () => number
  readonly #notable = new Sample(mostNotable)
  readonly #ordinary = new Sample(mostOrdinary)

  constructor(mode: RequestLogMode, wallMs: () => number) {
    this.#withQuery = mode === 'with-query'
    this.#wallMs = wallMs
  }

  add(outcome: Outcome, request: FinishedRequest): void {
    const { status, durationMs, refused } = outcome
    const responseMs = request.stream ? (request.firstByteMs ?? durationMs) : durationMs
    const isNotable = status >= 500 || status === 0 || refused !== null || responseMs >= slowMs
    const sample = isNotable ? this.#notable : this.#ordinary
    const slot = sample.slot()
    if (slot < 0) return
    const { method, target, traceId, spanId, parentSpanId } = request
    const { firstByteMs, container, coldStart, bytesIn, bytesOut, stream, cut } = request
    sample.keep(slot, {
      endedMs: this.#wallMs(),
      method: method.slice(0, longestMethod),
      path: pathOf(target, this.#withQuery),
      status,
      durationMs,
      firstByteMs,
      container,
      coldStart,
      bytesIn,
      bytesOut,
      refused,
      stream,
      cut,
      clientAddress: request.clientAddress,
      traceId,
      spanId,
      parentSpanId,
      oneIn: 1,
    })
  }

  /** The kept requests, oldest first. Until the next call at most `most` requests are kept of each kind. */
  take(most: number): RequestRecord[] {
    const records = [...this.#notable.take(), ...this.#ordinary.take()]
    this.#notable.most = Math.min(mostNotable, most)
    this.#ordinary.most = Math.min(mostOrdinary, most)
    return records.sort((one, other) => one.endedMs - other.endedMs)
  }
}

function pathOf(target: string, withQuery: boolean): string {
  const query = withQuery ? -1 : target.search(/[?#]/)
  const whole = query < 0 ? target : target.slice(0, query)
  const path = withQuery ? whole : whole.replace(pathParameters, '')
  // The head is read as latin1; most clients that do not escape send UTF-8.
  const text = Buffer.from(path.slice(0, longestPath), 'latin1').toString('utf8')
  return path.length > longestPath ? `${text}…` : text
}
