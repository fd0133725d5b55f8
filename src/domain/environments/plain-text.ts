/**
 * A text without the escapes of the formats that programs write values in. `from` and `to` are the positions of each
 * character in the original text.
 */
export interface PlainText {
  text: string
  from: readonly number[]
  to: readonly number[]
}

/**
 * Escapes of JSON, JavaScript, Python, Go, Rust, C, YAML and `$'…'` of shells (after any number of backslashes, as in a
 * string in a string), of URLs and of HTML. The look-behind keeps long runs of backslashes linear.
 */
const escapes = new RegExp(
  [
    String.raw`(?<!\\)\\+(?:u\{(?<point>[0-9a-fA-F]{1,6})\}|u(?<unit>[0-9a-fA-F]{4})|U(?<long>[0-9a-fA-F]{8})|(?<control>[abefnrtv]|0(?![0-7]{2})))`,
    String.raw`(?<hex>(?<!\\)(?:\\+x[0-9a-fA-F]{2})+)`,
    String.raw`(?<octal>(?<!\\)(?:\\+[0-3][0-7]{2})+)`,
    `(?<percent>(?:%[0-9a-fA-F]{2})+)`,
    `%u(?<percentUnit>[0-9a-fA-F]{4})`,
    String.raw`&\\*(?:(?<entity>amp|lt|gt|quot|apos)|#(?<decimal>\d{1,7})|#[xX](?<hexadecimal>[0-9a-fA-F]{1,6}))\\*;`,
  ].join('|'),
  'g',
)
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const maybeEscaped = /[\\%&]/
/** An escape that the end of a cut line broke. */
const brokenEscape = /(?:\\+(?:[uUx][0-9a-fA-F]{0,7}|[0-3][0-7]?)?|%u?[0-9a-fA-F]{0,3}|&#?[0-9a-zA-Z]{0,7})$/

/** Quotes of any style and what escapes them, and control characters. */
const removed = /['"`\\\u0000-\u001f\u007f]/
const edge = { start: new RegExp(`^${removed.source}`), end: new RegExp(`${removed.source}$`) }

/** Escapes within escapes, such as JSON in a URL. Deeper ones are not ordinary. */
const mostPasses = 4

/** Whether a format may write the value with other quotes or a `+` for a space, besides escapes. */
export function dependsOnQuotes(value: string): boolean {
  return removed.test(value) || value.includes(' ')
}

/** Whether quotes or escapes at the ends of a value are lost in its plain text. */
export function lostEdges(value: string): { start: boolean; end: boolean } {
  return { start: edge.start.test(value), end: edge.end.test(value) }
}

export function isQuote(character: string | undefined): boolean {
  return character !== undefined && removed.test(character)
}

/** What all spellings of a value have in common: the plain text of a line with any of them contains it. */
export function plainValue(value: string): string {
  return maybeEscaped.test(value) || dependsOnQuotes(value) ? plainText(value).text : value
}

/** Null if the line has nothing to undo. `quoted`: also if it has only quotes or spaces. */
export function plainLine(
  line: string,
  { isCut, quoted }: { isCut: boolean; quoted: boolean },
): PlainText | null {
  if (!maybeEscaped.test(line) && !(quoted && dependsOnQuotes(line))) return null
  return plainText(isCut ? line.replace(brokenEscape, '') : line)
}

function plainText(original: string): PlainText {
  const positions = Array.from({ length: original.length + 1 }, (_, at) => at)
  let plain: PlainText = { text: original, from: positions, to: positions.slice(1) }
  for (let pass = 0; pass < mostPasses && maybeEscaped.test(plain.text); pass += 1) {
    const decoded = decodeOnce(plain)
    if (decoded === null) break
    plain = decoded
  }
  return withoutQuotes(plain)
}

/** Collects a text with the positions of its characters. */
class PlainBuilder {
  #text = ''
  readonly #from: number[] = []
  readonly #to: number[] = []
  readonly #source: PlainText

  constructor(source: PlainText) {
    this.#source = source
  }

  keep(from: number, to: number): void {
    for (let at = from; at < to; at += 1) {
      this.#from.push(this.#source.from[at]!)
      this.#to.push(this.#source.to[at]!)
    }
    this.#text += this.#source.text.slice(from, to)
  }

  put(text: string, from: number, to: number): void {
    for (let unit = 0; unit < text.length; unit += 1) {
      this.#from.push(this.#source.from[from]!)
      this.#to.push(this.#source.to[to - 1]!)
    }
    this.#text += text
  }

  get plain(): PlainText {
    return { text: this.#text, from: this.#from, to: this.#to }
  }
}

/** Null if the text has no escape. */
function decodeOnce(source: PlainText): PlainText | null {
  const { text } = source
  const built = new PlainBuilder(source)
  let at = 0
  for (const match of text.matchAll(escapes)) {
    built.keep(at, match.index)
    at = match.index
    for (const { character, length } of decoded(match)) {
      built.put(character, at, at + length)
      at += length
    }
  }
  if (at === 0) return null
  built.keep(at, text.length)
  return built.plain
}

interface Piece {
  character: string
  /** Of its escape. */
  length: number
}

function decoded(match: RegExpMatchArray): Piece[] {
  const { point, unit, long, percentUnit, hex, octal, percent, entity, decimal, hexadecimal } = match.groups!
  if (hex) return ofBytes(hex, /\\+x(..)/g, 16)
  if (octal) return ofBytes(octal, /\\+([0-7]{3})/g, 8)
  if (percent) return ofBytes(percent, /%(..)/g, 16)
  const [{ length }] = match
  if (entity) return [{ character: entities[entity]!, length }]
  const code = decimal ?? point ?? unit ?? long ?? percentUnit ?? hexadecimal
  // Without a code: the escape of a control character.
  if (code === undefined) return [{ character: '', length }]
  const number = Number.parseInt(code, decimal ? 10 : 16)
  const isUnit = unit !== undefined || percentUnit !== undefined
  if (isUnit) return [{ character: String.fromCharCode(number), length }]
  return [{ character: number > 0x10ffff ? '' : String.fromCodePoint(number), length }]
}

/** A run of escaped bytes: UTF-8 where it is valid, else Latin-1. */
function ofBytes(run: string, each: RegExp, base: number): Piece[] {
  const bytes = [...run.matchAll(each)].map(([{ length }, digits]) => ({
    value: Number.parseInt(digits!, base) & 0xff,
    length,
  }))
  const pieces: Piece[] = []
  for (let at = 0; at < bytes.length; ) {
    const first = bytes[at]!.value
    const expected = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1
    const rest = bytes.slice(at + 1, at + expected)
    const isUtf8 = rest.length === expected - 1 && rest.every(({ value }) => (value & 0xc0) === 0x80)
    const own = bytes.slice(at, at + (isUtf8 ? expected : 1))
    const raw = Buffer.from(own.map(({ value }) => value))
    pieces.push({
      character: raw.toString(isUtf8 ? 'utf8' : 'latin1'),
      length: own.reduce((sum, { length }) => sum + length, 0),
    })
    at += own.length
  }
  return pieces
}

const quotesAndSpaces = new RegExp(`${removed.source}| `, 'g')

/** A space becomes the `+` of forms. */
function withoutQuotes(source: PlainText): PlainText {
  const { text } = source
  const built = new PlainBuilder(source)
  let at = 0
  for (const { index, 0: one } of text.matchAll(quotesAndSpaces)) {
    built.keep(at, index)
    at = index + 1
    if (one === ' ') built.put('+', index, at)
  }
  if (at === 0) return source
  built.keep(at, text.length)
  return built.plain
}
