import { secretMask } from '../../contract/fields.ts'
import { ansi, hasHidden, hidden } from '../../contract/hidden-characters.ts'
import { cutMark } from './log-lines.ts'
import {
  dependsOnQuotes,
  located,
  type PlainText,
  plainLine,
  quotesAfter,
  quotesBefore,
} from './plain-text.ts'
import { linesOf, type SecretForm, secretForms, shortestMasked } from './secret-forms.ts'

/** Values beyond this many characters in all are not masked, so that no environment costs more than its share. */
export const mostMasked = 64 * 1024
/** Lines of values, which are looked for one by one. Each takes up to 50 microseconds to prepare, however short it is. */
const mostLines = 500

/**
 * Limit of compared characters per line; a line that exceeds it is hidden completely, so that no secret slows the
 * platform down.
 */
const mostCompared = 64 * 1024

export type Mask = (line: string) => string

/**
 * Masks secret values also in base64, with the quotes and escapes of any common format, interrupted by color codes or
 * invisible characters, and where a cut line ends within one. The time is linear in the line. Values of less than
 * `shortest` characters (at least 3) are not masked.
 */
export function createMask(values: Iterable<string>, shortest = shortestMasked): Mask {
  const forms = formsOf(values, shortest)
  if (forms.length === 0) return (line) => line
  const masker = new SecretMasker(forms, shortest)
  return (line) => {
    const masked = masker.mask(line)
    return hasHidden(masked) ? maskInterrupted(masked, masker) : masked
  }
}

/**
 * Color codes and invisible characters inside a secret hide it from the mask, but a viewer that drops them would show the
 * secret whole. Such a line loses them.
 */
function maskInterrupted(line: string, masker: SecretMasker): string {
  const stripped = line.replace(ansi, '').replace(hidden, '')
  const masked = masker.mask(stripped)
  return masked === stripped ? line : masked
}

function formsOf(values: Iterable<string>, shortest: number): SecretForm[] {
  const forms = new Map<string, SecretForm>()
  const seen = new Set<string>()
  let characters = 0
  let lines = 0
  // One by one: the caller opens a value when it is requested.
  for (const value of values) {
    if (seen.has(value)) continue
    seen.add(value)
    characters += value.length
    if (characters > mostMasked) break
    const own = linesOf(value).slice(0, mostLines - lines)
    lines += own.length
    for (const form of secretForms(value, own, shortest)) forms.set(form.text, form)
  }
  return [...forms.values()].sort((a, b) => b.text.length - a.text.length)
}

/**
 * Multi-pattern search (Wu and Manber, 1994): a table gives the distance to the next possible match for three
 * characters, so most of a line is skipped.
 */
class SecretMasker {
  readonly #shortest: number
  readonly #bits: number
  readonly #skip: Uint8Array
  readonly #byStart = new Map<string, SecretForm[]>()
  /** Prefixes too short for the table, for the end of a cut line. */
  readonly #beginnings = new Set<string>()
  readonly #quoted: boolean

  /** `forms` with the longest first. */
  constructor(forms: readonly SecretForm[], shortest: number) {
    this.#shortest = shortest
    this.#quoted = forms.some(({ text, isBase64 }) => !isBase64 && dependsOnQuotes(text))
    this.#bits = Math.min(16, Math.max(10, Math.ceil(Math.log2(forms.length * 16))))
    this.#skip = new Uint8Array(1 << this.#bits).fill(this.#shortest - 2)
    for (const form of forms) {
      const start = form.text.slice(0, this.#shortest)
      const alike = this.#byStart.get(start)
      if (alike) alike.push(form)
      else {
        this.#byStart.set(start, [form])
        this.#addStart(start)
      }
    }
  }

  #addStart(start: string): void {
    for (let end = 3; end <= this.#shortest; end += 1) {
      const slot = this.#slot(start, end)
      this.#skip[slot] = Math.min(this.#skip[slot]!, this.#shortest - end)
    }
    for (let length = 2; length < this.#shortest; length += 1) this.#beginnings.add(start.slice(0, length))
  }

  mask(line: string): string {
    const isCut = line.endsWith(cutMark)
    const text = isCut ? line.slice(0, -cutMark.length) : line
    const hidden = this.#hidden(text, isCut)
    if (hidden === null) return secretMask
    if (hidden.length === 0) return line
    let masked = ''
    let shownFrom = 0
    for (const { from, to } of hidden) {
      masked += `${text.slice(shownFrom, from)}${secretMask}`
      shownFrom = to
    }
    return `${masked}${text.slice(shownFrom)}${isCut ? cutMark : ''}`
  }

  /** The ranges to hide, in order and without overlap; null if the search exceeds its limit. */
  #hidden(line: string, isCut: boolean): Range[] | null {
    const found = this.#find(line, isCut)
    const plain = found && plainLine(line, { isCut, quoted: this.#quoted })
    if (plain === null) return found
    const inPlain = this.#find(plain, isCut)
    if (found === null || inPlain === null) return null
    if (inPlain.length === 0) return found
    const merged: Range[] = []
    const places = located(line, isCut)
    const written = inPlain.map((range) => asWritten(range, places, line))
    for (const { from, to } of [...found, ...written].sort((a, b) => a.from - b.from)) hide(merged, from, to)
    return merged
  }

  #find(text: string, isCut: boolean): FoundRange[] | null {
    const hidden: FoundRange[] = []
    const work = { left: mostCompared }
    for (let end = this.#shortest; end <= text.length; ) {
      const skip = this.#skip[this.#slot(text, end)]!
      if (skip > 0) {
        end += skip
        continue
      }
      const from = end - this.#shortest
      const forms = this.#byStart.get(text.slice(from, end))
      if (forms) hide(hidden, from, ...endOfMatch(forms, text, from, { isCut, work }))
      if (work.left < 0) return null
      end += 1
    }
    if (isCut) hide(hidden, this.#startOfBeginning(text), text.length)
    return hidden
  }

  /** The position at which the end of a cut line starts a secret; the end of the text if it does not. */
  #startOfBeginning(text: string): number {
    for (let length = this.#shortest - 1; length >= 2; length -= 1)
      if (this.#beginnings.has(text.slice(-length))) return text.length - length
    return text.length
  }

  /** Table slot of the three characters before `end`. */
  #slot(text: string, end: number): number {
    const mixed =
      Math.imul(text.charCodeAt(end - 3), 0x9e3779b1) +
      Math.imul(text.charCodeAt(end - 2), 0x85ebca6b) +
      Math.imul(text.charCodeAt(end - 1), 0xc2b2ae35)
    return (mixed >>> 0) >>> (32 - this.#bits)
  }
}

interface Range {
  from: number
  to: number
}

/** With what the plain text of the form at its start and its end has lost. */
interface FoundRange extends Range {
  lost?: SecretForm['lost']
}

function hide(hidden: FoundRange[], from: number, to: number, lost?: SecretForm['lost']): void {
  const last = hidden.at(-1)
  if (from >= to) return
  if (!last || from > last.to) hidden.push(lost ? { from, to, lost } : { from, to })
  else if (to > last.to) {
    last.to = to
    if (lost || last.lost) last.lost = { start: last.lost?.start ?? false, end: lost?.end ?? false }
  }
}

/** Characters of quotes at an end of a value. */
const longestEdge = 64

/** A range of the plain text in the line itself, with the quotes that belong to the value. */
function asWritten({ from, to, lost }: FoundRange, plain: PlainText, line: string): Range {
  const range = { from: plain.from[from]!, to: plain.to[to - 1]! }
  const before = line.slice(Math.max(0, range.from - longestEdge), range.from)
  if (lost?.start) range.from -= quotesBefore.exec(before)![0].length
  if (lost?.end) range.to += quotesAfter.exec(line.slice(range.to, range.to + longestEdge))![0].length
  return range
}

/** The end of the longest form that matches at `from`; `from` if none does or the limit is reached. */
function endOfMatch(
  forms: readonly SecretForm[],
  text: string,
  from: number,
  { isCut, work }: { isCut: boolean; work: { left: number } },
): [to: number, lost?: SecretForm['lost']] {
  for (const form of forms) {
    work.left -= Math.min(form.text.length, text.length - from)
    if (work.left < 0) return [from]
    if (text.startsWith(form.text, from)) {
      const to = from + form.text.length
      if (!form.isBase64) return [to, form.lost]
      return [to + /^[A-Za-z0-9+/_-]?={0,2}/.exec(text.slice(to, to + 3))![0].length]
    }
    if (isCut && form.text.length > text.length - from && form.text.startsWith(text.slice(from))) {
      return [text.length]
    }
  }
  return [from]
}
