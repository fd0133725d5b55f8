import { STATUS_CODES } from 'node:http'
import type { Refusal } from '../routing/request-queue.ts'
import { errorPage } from './error-page.ts'

/** A reply of the gateway itself: `{error, details}` as everywhere on the platform. Contains no internals. */
export interface LocalReply {
  status: number
  error: string
  details: string
  /** Seconds after which a retry may succeed. */
  retryAfter?: number
  /** The header `location`. */
  location?: string
  /** The body as plain text, in place of `{error, details}`. */
  text?: string
  /** For the request log: what exactly was wrong. */
  cause?: string
}

export const answers = {
  unknownHost: {
    status: 404,
    error: 'No such app or function',
    details: 'Nothing is served under this host name. The hosts of an environment show where it answers.',
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
  deploying: {
    status: 503,
    error: 'Deploying',
    details:
      'A version of this environment is being deployed, and none serves yet. Try again soon; its status shows how far it is.',
    retryAfter: 5,
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
  brokenOff: {
    status: 502,
    error: 'The container broke off its response',
    details: 'The container closed the connection before its response was complete. Its logs say why.',
  },
  drained: {
    status: 502,
    error: 'Ended by a drain',
    details: 'The container was replaced or stopped before its response was complete.',
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
  badBody: { status: 400, error: 'Bad request', details: 'The chunked request body is malformed.' },
} satisfies Record<string, LocalReply>

export function answerTo(refusal: Refusal): LocalReply {
  switch (refusal.why) {
    case 'stopped':
      return answers.stopped
    case 'deploying':
      return answers.deploying
    case 'gone':
      return answers.unknownHost
    case 'busy':
      return answers.busy
    case 'no-container':
      return {
        status: 503,
        error: 'No container is running',
        details:
          refusal.problem ??
          'This environment has no container that takes requests now. get-app-env-status shows the reason.',
        retryAfter: 5,
      }
    case 'never-served':
      return {
        status: 503,
        error: 'No version is serving',
        details: `The first version of this environment could not be deployed (${refusal.reason}). get-app-env-status shows the reason.`,
        retryAfter: 30,
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

/** The container's response cannot be passed on; `problem` is the predicate of a sentence about it. */
export function badAnswer(problem: string): LocalReply {
  return {
    status: 502,
    error: 'Bad answer from the container',
    details: `The response of the container ${problem}.`,
    cause: `it ${problem}`,
  }
}

/** The bytes of earlier replies, by their four variants. */
const rendered = new WeakMap<LocalReply, (Buffer | undefined)[]>()

interface ReplyOptions {
  close: boolean
  /** False for HEAD. */
  withBody: boolean
  /** The id of the request for a visitor, who gets a page; null for a program. */
  pageId: string | null
}

/** The whole response. Rendered replies for programs are cached. */
export function renderResult(answer: LocalReply, options: ReplyOptions): Buffer {
  if (options.pageId !== null) return Buffer.from(answerText(answer, options))
  let ways = rendered.get(answer)
  if (!ways) {
    ways = []
    rendered.set(answer, ways)
  }
  const way = (options.close ? 1 : 0) + (options.withBody ? 2 : 0)
  ways[way] ??= Buffer.from(answerText(answer, options))
  return ways[way]
}

const jsonType = 'content-type: application/json; charset=utf-8\r\n'
const pageType =
  'content-type: text/html; charset=utf-8\r\ncache-control: no-store\r\n' +
  "content-security-policy: default-src 'none'; style-src 'unsafe-inline'\r\nx-content-type-options: nosniff\r\n"

function answerText(answer: LocalReply, options: ReplyOptions): string {
  const { pageId } = options
  if (answer.text !== undefined) return plainText(answer, answer.text, options)
  const body =
    pageId === null
      ? JSON.stringify({ error: answer.error, details: answer.details })
      : errorPage(answer.status, pageId)
  const retry = answer.retryAfter === undefined ? '' : `retry-after: ${answer.retryAfter}\r\n`
  return (
    `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}\r\n` +
    `${pageId === null ? jsonType : pageType}content-length: ${Buffer.byteLength(body)}\r\n` +
    `${retry}connection: ${options.close ? 'close' : 'keep-alive'}\r\n\r\n${options.withBody ? body : ''}`
  )
}

function plainText(
  { status, location }: LocalReply,
  body: string,
  { close, withBody }: ReplyOptions,
): string {
  const to = location === undefined ? '' : `location: ${location}\r\n`
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${to}` +
    `content-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\n` +
    `connection: ${close ? 'close' : 'keep-alive'}\r\n\r\n${withBody ? body : ''}`
  )
}
