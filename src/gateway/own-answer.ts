import { STATUS_CODES } from 'node:http'
import type { Refusal } from './waiting-line.ts'

/** An answer the gateway gives itself: `{error, details}` as everywhere on the platform. Names no internals. */
export interface OwnAnswer {
  status: number
  error: string
  details: string
  /** Seconds after which a new try may help. */
  retryAfter?: number
}

export const answers = {
  unknownHost: {
    status: 404,
    error: 'No such app or function',
    details:
      'Nothing is served under this host name. Environments answer at <envName>.app.localhost, functions at <envName>.fn.localhost.',
  },
  notReady: {
    status: 503,
    error: 'Starting',
    details: 'The platform is starting. Try again in a moment.',
    retryAfter: 1,
  },
  stopped: {
    status: 503,
    error: 'Stopped',
    details: 'This environment is stopped, or nothing was deployed to it yet. Start it or deploy to it.',
    retryAfter: 30,
  },
  busy: {
    status: 503,
    error: 'Too many requests waiting',
    details: 'The queue of this function is full. Try again soon, or raise its maxScale.',
    retryAfter: 1,
  },
  noAnswer: {
    status: 502,
    error: 'No answer from the container',
    details: 'The container closed the connection before it answered. Its logs say why.',
  },
  badAnswer: {
    status: 502,
    error: 'Bad answer from the container',
    details: 'The container answered with something that is not valid HTTP.',
  },
  startTimeout: {
    status: 504,
    error: 'Response start timed out',
    details: 'No response began within the time allowed (responseStartTimeoutSeconds for functions).',
  },
  totalTimeout: {
    status: 504,
    error: 'Request timed out',
    details: 'The request took longer than the timeoutSeconds of the function.',
  },
  slowRequest: {
    status: 408,
    error: 'Request timed out',
    details: 'The request did not arrive completely in time.',
  },
  headTooLarge: {
    status: 431,
    error: 'Request head too large',
    details: 'Request line and headers may have 32 KiB together.',
  },
  notHttp: { status: 400, error: 'Bad request', details: 'The request line is not HTTP.' },
  badBody: { status: 400, error: 'Bad request', details: 'The chunked request body is malformed.' },
} satisfies Record<string, OwnAnswer>

export function answerTo(refusal: Refusal): OwnAnswer {
  switch (refusal.why) {
    case 'stopped':
      return answers.stopped
    case 'gone':
      return answers.unknownHost
    case 'busy':
      return answers.busy
    case 'no-container':
      return {
        status: 503,
        error: 'No container is running',
        details: 'This environment has no container that takes requests now. Its status says why.',
        retryAfter: 5,
      }
    case 'start-failed':
      return {
        status: 503,
        error: 'The function could not be started',
        details: refusal.message,
        retryAfter: 5,
      }
  }
}

/** The bytes of answers given before, by the four ways to give them. */
const rendered = new WeakMap<OwnAnswer, (Buffer | undefined)[]>()

/** The whole response; without the body for HEAD. An answer given again is not made again. */
export function renderAnswer(answer: OwnAnswer, options: { close: boolean; withBody: boolean }): Buffer {
  let ways = rendered.get(answer)
  if (!ways) {
    ways = []
    rendered.set(answer, ways)
  }
  const way = (options.close ? 1 : 0) + (options.withBody ? 2 : 0)
  ways[way] ??= Buffer.from(answerText(answer, options))
  return ways[way]
}

function answerText(answer: OwnAnswer, options: { close: boolean; withBody: boolean }): string {
  const body = JSON.stringify({ error: answer.error, details: answer.details })
  const retry = answer.retryAfter === undefined ? '' : `retry-after: ${answer.retryAfter}\r\n`
  return (
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}\r\n` +
    `content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
    `${retry}connection: ${options.close ? 'close' : 'keep-alive'}\r\n\r\n${options.withBody ? body : ''}`
  )
}
