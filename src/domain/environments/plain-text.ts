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
 * string in a string), of URLs and of HTML. Backslashes without one match too, so that their runs are read once.
 */
const escapes = new RegExp(
  [
    String.raw`((?:\\+x[0-9a-fA-F]{2})+)`,
    String.raw`((?:\\+[0-3][0-7]{2})+)`,
    String.raw`\\+(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([abefnrtv]|0(?![0-7]{2})))?`,
    `((?:%[0-9a-fA-F]{2})+)`,
    `%u([0-9a-fA-F]{4})`,
    String.raw`&\\*(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6}))\\*;`,
  ].join('|'),
  'g',
)
/** A cheap test for them. */
const someEscape = /\\[uUx0-3abefnrtv]|%[0-9a-fA-Fu]|&[\\algq#]/
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const maybeEscaped = /[\\%&]/
/** An escape that the end of a cut line broke. */
const brokenEscape = /(?:\\+(?:[uUx][0-9a-fA-F]{0,7}|[0-3][0-7]?)?|%u?[0-9a-fA-F]{0,3}|&#?[0-9a-zA-Z]{0,7})$/

/** Quotes of any style and what escapes them, and control characters. */
const removed = /['"`\\\u0000-\u001f\u007f]/
const allRemoved = new RegExp(removed, 'g')
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

const quote = `(?:${removed.source}|%2[27]|%60|%5c)`
/** Quotes before and after a value, also percent-encoded. */
export const quotesBefore = new RegExp(`${quote}*$`, 'i')
export const quotesAfter = new RegExp(`^${quote}*`, 'i')

/** What all spellings of a value have in common: the plain text of a line with any of them contains it. */
export function plainValue(value: string): string {
  return maybeEscaped.test(value) || dependsOnQuotes(value) ? plainText(value) : value
}

/** Null if the line has nothing to undo. `quoted`: also if it has only quotes or spaces. */
export function plainLine(
  line: string,
  { isCut, quoted }: { isCut: boolean; quoted: boolean },
): string | null {
  if (!maybeEscaped.test(line) && !(quoted && dependsOnQuotes(line))) return null
  return plainText(isCut ? line.replace(brokenEscape, '') : line)
}

function plainText(original: string): string {
  let text = original
  for (let pass = 0; pass < mostPasses && someEscape.test(text); pass += 1) {
    const before = text
    text = before.replace(escapes, (written, ...groups) => decodedText(written, groups))
    if (text === before) break
  }
  return text.replace(allRemoved, '').replaceAll(' ', '+')
}

/** The same text with its positions, which take several times as long. */
export function located(line: string, isCut: boolean): PlainText {
  const original = isCut ? line.replace(brokenEscape, '') : line
  const positions = Array.from({ length: original.length + 1 }, (_, at) => at)
  let plain: PlainText = { text: original, from: positions, to: positions.slice(1) }
  for (let pass = 0; pass < mostPasses && someEscape.test(plain.text); pass += 1) {
    const { text } = plain
    plain = rebuilt(plain, escapes, ([written, ...groups]) => decoded(written, groups))
    if (plain.text === text) break
  }
  const withoutQuotes = rebuilt(plain, allRemoved, () => [{ character: '', length: 1 }])
  return { ...withoutQuotes, text: withoutQuotes.text.replaceAll(' ', '+') }
}

/** The source with every match replaced by pieces. */
function rebuilt(
  source: PlainText,
  pattern: RegExp,
  pieces: (match: RegExpMatchArray) => Piece[],
): PlainText {
  const from: number[] = []
  const to: number[] = []
  let text = ''
  let at = 0
  const keep = (until: number) => {
    text += source.text.slice(at, until)
    for (; at < until; at += 1) {
      from.push(source.from[at]!)
      to.push(source.to[at]!)
    }
  }
  for (const match of source.text.matchAll(pattern)) {
    keep(match.index!)
    for (const { character, length } of pieces(match)) {
      text += character
      for (let unit = 0; unit < character.length; unit += 1) {
        from.push(source.from[at]!)
        to.push(source.to[at + length - 1]!)
      }
      at += length
    }
  }
  keep(source.text.length)
  return { text, from, to }
}

interface Piece {
  character: string
  /** Of its escape. */
  length: number
}
type Groups = readonly (string | undefined)[]

function decodedText(written: string, groups: Groups): string {
  const [hex, octal, , , , , percent] = groups
  if (hex ?? octal ?? percent)
    return decoded(written, groups).reduce((all, { character }) => all + character, '')
  return decodedCharacter(written, groups)
}

function decoded(written: string, groups: Groups): Piece[] {
  const [hex, octal, , , , , percent] = groups
  if (hex) return ofBytes(hex, /\\+x(..)/g, 16)
  if (octal) return ofBytes(octal, /\\+([0-7]{3})/g, 8)
  if (percent) return ofBytes(percent, /%(..)/g, 16)
  return [{ character: decodedCharacter(written, groups), length: written.length }]
}

function decodedCharacter(written: string, groups: Groups): string {
  const [, , point, unit, long, control, , percentUnit, entity, decimal, hexadecimal] = groups
  if (entity) return entities[entity]!
  if (control) return ''
  const halfOrWhole = unit ?? percentUnit
  if (halfOrWhole) return String.fromCharCode(Number.parseInt(halfOrWhole, 16))
  const code = point ?? long ?? hexadecimal ?? decimal
  // Backslashes without an escape.
  if (code === undefined) return written
  const number = Number.parseInt(code, code === decimal ? 10 : 16)
  return number > 0x10ffff ? '' : String.fromCodePoint(number)
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
