/** Undefined: not set. */
export type Lookup = (name: string) => string | undefined

/** A `${NAME:?message}` whose variable is not set, or a substitution nobody knows. */
export class ExpansionError extends Error {}

/** Splits at white space outside quotes; the quotes stay, `expandWord` takes them off. */
export function splitWords(text: string, escapeChar = '\\'): string[] {
  const words: string[] = []
  let word = ''
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    if (char === escapeChar && quote !== "'" && at + 1 < text.length) {
      word += char + text[++at]
      continue
    }
    if (quote === '' && /\s/.test(char)) {
      if (word !== '') words.push(word)
      word = ''
      continue
    }
    if (quote === '' && (char === '"' || char === "'")) quote = char
    else if (char === quote) quote = ''
    word += char
  }
  if (word !== '') words.push(word)
  return words
}

/**
 * One word by the rules of Dockerfile instructions: quotes taken off, `$NAME`, `${NAME}`, `${NAME:-word}`,
 * `${NAME:+word}`, `${NAME:?word}` and the forms without colon expanded, nothing inside single quotes.
 */
export function expandWord(text: string, lookup: Lookup, escapeChar = '\\'): string {
  return new Expander(text, lookup, escapeChar).run()
}

class Expander {
  readonly #text: string
  readonly #lookup: Lookup
  readonly #escapeChar: string
  #at = 0

  constructor(text: string, lookup: Lookup, escapeChar: string) {
    this.#text = text
    this.#lookup = lookup
    this.#escapeChar = escapeChar
  }

  run(): string {
    let out = ''
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at++]!
      if (char === "'") out += this.#singleQuoted()
      else if (char === '"') out += this.#doubleQuoted()
      else if (char === '$') out += this.#variable()
      else if (char === this.#escapeChar && this.#at < this.#text.length) out += this.#text[this.#at++]
      else out += char
    }
    return out
  }

  #singleQuoted(): string {
    const end = this.#text.indexOf("'", this.#at)
    if (end < 0) throw new ExpansionError(`a single quote is not closed in ${this.#text}`)
    const inside = this.#text.slice(this.#at, end)
    this.#at = end + 1
    return inside
  }

  #doubleQuoted(): string {
    let out = ''
    for (;;) {
      const char = this.#text[this.#at++]
      if (char === undefined) throw new ExpansionError(`a double quote is not closed in ${this.#text}`)
      if (char === '"') return out
      const next = this.#text[this.#at]
      if (char === this.#escapeChar && (next === '"' || next === '$' || next === this.#escapeChar)) {
        out += next
        this.#at++
      } else if (char === '$') out += this.#variable()
      else out += char
    }
  }

  #variable(): string {
    if (this.#text[this.#at] === '{') return this.#braced()
    const name = /^[A-Za-z_][A-Za-z0-9_]*/.exec(this.#text.slice(this.#at))?.[0]
    if (!name) return '$'
    this.#at += name.length
    return this.#lookup(name) ?? ''
  }

  #braced(): string {
    const inside = this.#untilBrace()
    const match = /^([A-Za-z_][A-Za-z0-9_]*)(?:(:?)([-+?])([\s\S]*))?$/.exec(inside)
    if (!match) throw new ExpansionError(`unsupported substitution \${${inside}}`)
    const [, name, colon, operator, word = ''] = match
    const value = this.#lookup(name!)
    const isSet = value !== undefined && (colon === '' || value !== '')
    const other = () => expandWord(word, this.#lookup, this.#escapeChar)
    if (operator === '-') return isSet ? value : other()
    if (operator === '+') return isSet ? other() : ''
    if (operator === '?' && !isSet) throw new ExpansionError(`${name}: ${other() || 'is not set'}`)
    return value ?? ''
  }

  #untilBrace(): string {
    const start = ++this.#at
    for (let depth = 1; this.#at < this.#text.length; this.#at++) {
      if (this.#text[this.#at] === '{') depth++
      if (this.#text[this.#at] === '}' && --depth === 0) return this.#text.slice(start, this.#at++)
    }
    throw new ExpansionError(`a brace is not closed in ${this.#text}`)
  }
}
