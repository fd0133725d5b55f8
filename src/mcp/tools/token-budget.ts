import { z } from 'zod'
import { AppError } from '../../errors.ts'
import type { Note, ToolInput } from './define-tool.ts'
import type { ToolResult } from './result.ts'
import { cut } from './result-size.ts'

/** Inputs of every read. `cursor` is also that of the operation, if it has one (`operationCursor`). */
export const budgetFields = {
  maxTokens: z
    .number()
    .int()
    .refine((count) => count >= 100 && count <= 100_000, 'must be from 100 to 100,000')
    .optional(),
  cursor: z.string().max(200).optional(),
}

/** Of a read that states no `maxTokens`. */
const defaultMaxTokens = 4_000

type Answer = Record<string, unknown>
type Render = (answer: Answer, notes: Note[]) => ToolResult

/** A conservative count: JSON with ids has 2.8 bytes a token. */
const bytesPerToken = 2.5
/** Texts are cut to these lengths, one after the other, if shorter lists do not suffice. */
const textLengths = [1_000, 300, 100]
const deepest = 3
/** The list, the items that were shown, and the cursor of the operation for the response that has them. */
const positionInList = /^([A-Za-z][\w.]*):(\d{1,9})(?:~(.*))?$/

/** The part of a cursor that the operation itself takes. */
export function operationCursor(cursor: unknown): string | undefined {
  if (typeof cursor !== 'string') return undefined
  const position = positionInList.exec(cursor)
  return position === null ? cursor : position[3]
}

/**
 * Shortens the longest list until the result fits `maxTokens`, then the next, each to at least one item; then
 * long texts. Lists lose their last items, `logs` its oldest. The `cursor` of the result continues after the items shown of
 * the longest list; throws `invalid` for one of another result.
 */
export function withinBudget(
  answer: Answer,
  { maxTokens = defaultMaxTokens, cursor }: ToolInput,
  render: Render,
): ToolResult {
  const start = startOf(answer, cursor)
  const rest = start === null ? answer : replaced(answer, start.path, (list) => from(list, start))
  const whole = render(rest, [])
  if (fits(whole, Number(maxTokens))) return whole
  return new Shortener(rest, start, operationCursor(cursor), render).fit(Number(maxTokens))
}

interface Start {
  path: string
  offset: number
}

class Shortener {
  readonly #whole: Answer
  readonly #start: Start | null
  readonly #operationCursor: string | undefined
  readonly #render: Render
  #maxTokens = 0
  #shown: Answer
  readonly #kept: { path: string; count: number; of: number }[] = []
  #textLength: number | undefined

  constructor(whole: Answer, start: Start | null, ofOperation: string | undefined, render: Render) {
    this.#whole = whole
    this.#start = start
    this.#operationCursor = ofOperation
    this.#render = render
    this.#shown = whole
  }

  fit(maxTokens: number): ToolResult {
    this.#maxTokens = maxTokens
    for (const { path, length } of listsOf(this.#whole)) {
      const kept = { path, count: length, of: length }
      this.#kept.push(kept)
      kept.count = mostThat(length, (count) => {
        kept.count = count
        return fits(this.#result(), maxTokens)
      })
      if (fits(this.#result(), maxTokens)) return this.#result()
    }
    for (const length of textLengths) {
      this.#textLength = length
      if (fits(this.#result(), maxTokens)) break
    }
    return this.#result()
  }

  #result(): ToolResult {
    this.#shown = this.#kept.reduce(
      (answer, { path, count }) => replaced(answer, path, (list) => first(list, { path, offset: count })),
      this.#whole,
    )
    const most = this.#textLength
    const shown = most === undefined ? this.#shown : (withShortTexts(this.#shown, most) as Answer)
    const cuts = this.#kept.filter(({ count, of }) => count < of)
    const main = cuts[0]
    if (main === undefined) return this.#render(shown, ['Long texts are cut to maxTokens.'])
    const before = this.#start?.path === main.path ? this.#start.offset : 0
    const page = this.#operationCursor === undefined ? '' : `~${this.#operationCursor}`
    const cursor = `${main.path}:${before + main.count}${page}`
    const counted = cuts.map(({ path, count, of }) => `${path} ${count} of ${of}`).join(', ')
    const note = `Shortened to ${this.#maxTokens} tokens (maxTokens): ${counted}. The same call with cursor ${cursor} shows the next of ${main.path}.`
    return this.#render({ ...shown, cursor }, [note])
  }
}

function fits({ text, structured }: ToolResult, maxTokens: number): boolean {
  const bytes = Math.max(Buffer.byteLength(text), Buffer.byteLength(JSON.stringify(structured)))
  return bytes <= maxTokens * bytesPerToken
}

/** The greatest count from 1 that passes, else 1. */
function mostThat(length: number, passes: (count: number) => boolean): number {
  let [low, high] = [1, length]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (passes(middle)) low = middle
    else high = middle - 1
  }
  return low
}

/** The lists of an answer with more than one item, longest text first. */
function listsOf(answer: Answer): { path: string; length: number }[] {
  const found: { path: string; length: number; size: number }[] = []
  const visit = (value: unknown, path: string[]) => {
    if (Array.isArray(value)) {
      if (value.length > 1)
        found.push({ path: path.join('.'), length: value.length, size: JSON.stringify(value).length })
    } else if (typeof value === 'object' && value !== null && path.length < deepest) {
      for (const [key, one] of Object.entries(value)) visit(one, [...path, key])
    }
  }
  visit(answer, [])
  return found.sort((one, other) => other.size - one.size)
}

function startOf(answer: Answer, cursor: unknown): Start | null {
  if (typeof cursor !== 'string') return null
  const [, path, offset] = positionInList.exec(cursor) ?? []
  // The operation has taken or refused its own.
  if (path === undefined && 'cursor' in answer) return null
  const list = path?.split('.').reduce<unknown>((value, key) => (value as Answer | undefined)?.[key], answer)
  if (path !== undefined && Array.isArray(list)) return { path, offset: Number(offset) }
  throw new AppError('invalid', 'cursor does not belong to this result', {
    details: 'Send the value that a result of the same call shows as cursor, or leave it out.',
  })
}

/** A copy of the answer in which the list at `path` is changed. */
function replaced(answer: Answer, path: string, change: (list: unknown[]) => unknown[]): Answer {
  const [key = '', ...inner] = path.split('.')
  const value = answer[key]
  const changed =
    inner.length === 0 ? change(value as unknown[]) : replaced(value as Answer, inner.join('.'), change)
  return { ...answer, [key]: changed }
}

/** The newest log lines are the last. */
const isNewestLast = (path: string) => path === 'logs'

function first(list: unknown[], { path, offset: count }: Start): unknown[] {
  return isNewestLast(path) ? list.slice(-count) : list.slice(0, count)
}

function from(list: unknown[], { path, offset }: Start): unknown[] {
  return isNewestLast(path) ? list.slice(0, Math.max(0, list.length - offset)) : list.slice(offset)
}

function withShortTexts(value: unknown, most: number): unknown {
  if (typeof value === 'string') return cut(value, most)
  if (Array.isArray(value)) return value.map((one) => withShortTexts(one, most))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withShortTexts(one, most)]))
}
