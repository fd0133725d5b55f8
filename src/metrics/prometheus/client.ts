import { AppError } from '../../errors.ts'

const timeoutMs = 15_000
const longestReason = 300

/** One series of a range query: its labels, and a value for each time in milliseconds since the epoch. */
export interface RangeSeries {
  labels: Readonly<Record<string, string>>
  samples: readonly { t: number; value: number }[]
}

export interface RangeQuery {
  promql: string
  /** Both inclusive, milliseconds since the epoch. */
  startMs: number
  endMs: number
  stepMs: number
}

interface RangeResponse {
  status: string
  error?: string
  data?: { result: { metric: Record<string, string>; values: [seconds: number, value: string][] }[] }
}

/** The HTTP API of a Prometheus server, or of another server with the same API. */
export class PrometheusClient {
  readonly #url: URL

  /** `url`: the address below which `/api/v1/query_range` is. */
  constructor(url: string) {
    this.#url = new URL(`${url.replace(/\/+$/, '')}/api/v1/query_range`)
  }

  /** Throws `AppError('unavailable')` when the query fails, whatever the reason. */
  async range({ promql, startMs, endMs, stepMs }: RangeQuery): Promise<RangeSeries[]> {
    const body = new URLSearchParams({
      query: promql,
      start: String(startMs / 1_000),
      end: String(endMs / 1_000),
      step: String(stepMs / 1_000),
      timeout: `${timeoutMs / 1_000}s`,
    })
    const response = await this.#post(body)
    return response.map(({ metric, values }) => ({
      labels: metric,
      samples: values.flatMap(([seconds, text]) => {
        const value = Number(text)
        return Number.isFinite(value) ? [{ t: Math.round(seconds * 1_000), value }] : []
      }),
    }))
  }

  async #post(body: URLSearchParams): Promise<NonNullable<RangeResponse['data']>['result']> {
    let status: number
    let answer: RangeResponse
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      })
      status = response.status
      answer = (await response.json()) as RangeResponse
    } catch (cause) {
      throw unreadable('It does not respond as Prometheus does', cause)
    }
    if (answer.status === 'success' && Array.isArray(answer.data?.result)) return answer.data.result
    const reason = String(answer.error ?? 'no reason').slice(0, longestReason)
    throw unreadable('It rejects the query', new Error(`${status}: ${reason}`))
  }
}

function unreadable(why: string, cause: unknown): AppError {
  return new AppError('unavailable', 'Prometheus cannot be read', {
    details: `${why}. The operator finds the reason in the log of the server, and the address in the regions file.`,
    cause,
  })
}
