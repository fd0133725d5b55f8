import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { AppError } from '../../errors.ts'

/**
 * Thrown instead of an answer where a question ends the call: the caller asks the person and sends the same call again,
 * which then runs from the top. So a question comes before every side effect.
 */
export class QuestionPending extends Error {
  readonly question: string
  readonly yes: string

  constructor(question: string, yes: string) {
    super('the person has to answer first')
    this.question = question
    this.yes = yes
  }
}

/** The caller and the call that a question is about. An answer counts for exactly this call. */
export interface QuestionSubject {
  /** Null on stdio, where a process has one caller. */
  token: string | null
  tool: string
  args: Readonly<Record<string, unknown>>
}

/** Signed states that a caller keeps between a question and its answer. */
export interface QuestionStates {
  issue(question: string, subject: QuestionSubject): string
  /**
   * Whether the state belongs to this question. Throws `invalid` for a state that is forged, expired, was issued for
   * another subject, or was redeemed before.
   */
  redeem(state: string, subject: QuestionSubject): Promise<(question: string) => boolean>
}

interface QuestionStateOptions {
  /** Signs or encrypts; `open` throws for anything that it did not seal for `boundTo`. */
  box: { seal(clear: string, boundTo: string): string; open(sealed: string, boundTo: string): string }
  clock: Clock
  /** False if the state was spent before, on any instance that shares the box. */
  spend(stateId: string, expiresAtMs: number): Promise<boolean>
}

/** How long a person has to answer. */
const validMs = 10 * 60_000

export function createQuestionStates({ box, clock, spend }: QuestionStateOptions): QuestionStates {
  return {
    issue(question, subject) {
      const state = {
        id: randomBytes(16).toString('base64url'),
        expiresAtMs: clock.wallMs() + validMs,
        question: hashOf(question),
      }
      return box.seal(JSON.stringify(state), nameOf(subject))
    },
    async redeem(state, subject) {
      const { id, expiresAtMs, question } = opened(() => box.open(state, nameOf(subject)))
      if (clock.wallMs() >= expiresAtMs || !(await spend(id, expiresAtMs))) throw unusable()
      return (current) => hashOf(current) === question
    },
  }
}

/** States of one process: they end with it. */
export function processQuestionStates(clock: Clock): QuestionStates {
  const key = randomBytes(32)
  const spent = new Map<string, number>()
  const signed = (clear: string, boundTo: string) =>
    createHmac('sha256', key)
      .update(JSON.stringify([clear, boundTo]))
      .digest()
  return createQuestionStates({
    clock,
    box: {
      seal: (clear, boundTo) =>
        `${Buffer.from(clear).toString('base64url')}.${signed(clear, boundTo).toString('base64url')}`,
      open(sealed, boundTo) {
        const [body = '', mac = ''] = sealed.split('.')
        const clear = Buffer.from(body, 'base64url').toString('utf8')
        const expected = signed(clear, boundTo)
        const given = Buffer.from(mac, 'base64url')
        if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw unusable()
        return clear
      },
    },
    async spend(id, expiresAtMs) {
      for (const [old, endsAtMs] of spent) if (endsAtMs <= clock.wallMs()) spent.delete(old)
      if (spent.has(id)) return false
      spent.set(id, expiresAtMs)
      return true
    },
  })
}

function opened(open: () => string): { id: string; expiresAtMs: number; question: string } {
  try {
    return JSON.parse(open())
  } catch (cause) {
    throw unusable(cause)
  }
}

function unusable(cause?: unknown): AppError {
  return new AppError('invalid', 'Invalid or expired requestState', {
    details:
      'Send the call again without requestState and inputResponses; the person then gets the question again.',
    cause,
  })
}

/** The grant of an agent: its credential up to the first dot (`src/oauth/grant-credentials.ts`); tokens have none. */
function nameOf({ token, tool, args }: QuestionSubject): string {
  const [holder = ''] = (token ?? '').split('.')
  return `question of ${hashOf(holder)} about ${hashOf(JSON.stringify([tool, sorted(args)]))}`
}

/** The same value whatever the order of its keys. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return entries.map(([key, one]) => [key, sorted(one)])
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
