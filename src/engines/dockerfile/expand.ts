/** Undefined if the variable is not set. */
export type Lookup = (name: string) => string | undefined

/** An unset `${NAME:?message}`, an unsupported substitution, or an expansion that grows too large. */
export class ExpansionError extends Error {}

/** Characters of one word after its variables are expanded. */
export const longestExpansion = 64 * 1024
/** Characters of all words of one build together. Docker's builder needs a second for a word of 64 kB. */
export const mostExpanded = 512 * 1024
/** Depth of nested substitutions. */
export const deepestNesting = 20

/** Limits the total expansion of one build: each variable can contain the previous one many times. */
export class ExpansionBudget {
  #spent = 0

  get spent(): number {
    return this.#spent
  }

  /** Throws `ExpansionError`. */
  spend(characters: number): void {
    this.#spent += characters
    if (this.#spent > mostExpanded)
      throw new ExpansionError(
        `the variables of the Dockerfile expand to more than ${mostExpanded / 1024} KiB in total`,
      )
  }
}

export interface ExpandOptions {
  escapeChar: string
  budget: ExpansionBudget
}

/** White space as defined by Go, in which Docker's builder is written. */
const space = /[^\S\ufeff]|\u0085/

/** Splits at white space outside quotes. The quotes stay; `expandWord` removes them. */
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
    if (quote === '' && space.test(char)) {
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
 * Expands one word by the rules of Dockerfile instructions: removes quotes, replaces `$NAME`, `${NAME}`,
 * `${NAME:-word}`, `${NAME:+word}`, `${NAME:?word}` and the forms without colon; nothing inside single quotes. The
 * time is proportional to the text and its expansion, which is at most `longestExpansion`. Throws `ExpansionError`.
 */
export function expandWord(text: string, lookup: Lookup, options: ExpandOptions): string {
  return new Expander(text, lookup, options).run()
}

/** A variable name as Docker's builder reads it: letters of any script, digits only, or a special parameter. */
const variableName = /[\p{L}_][\p{L}\p{Nd}_]*|\p{Nd}+|[@*#?\-$!]/uy

class Expander {
  readonly #text: string
  readonly #lookup: Lookup
  readonly #options: ExpandOptions
  #at = 0
  #length = 0
  #depth = 0

  constructor(text: string, lookup: Lookup, options: ExpandOptions) {
    this.#text = text
    this.#lookup = lookup
    this.#options = options
  }

  run(): string {
    return this.#until('')
  }

  /** Up to and including `stop`; to the end if `stop` is empty. */
  #until(stop: string): string {
    let out = ''
    while (this.#at < this.#text.length) {
      const char = this.#text[this.#at++]!
      if (char === stop) return out
      if (char === "'") out += this.#singleQuoted()
      else if (char === '"') out += this.#doubleQuoted()
      else if (char === '$') out += this.#variable()
      else if (char === this.#options.escapeChar && this.#at < this.#text.length)
        out += this.#grown(this.#text[this.#at++]!)
      else out += this.#grown(char)
    }
    if (stop === '') return out
    throw new ExpansionError(`a brace is not closed in ${shown(this.#text)}`)
  }

  #grown(part: string): string {
    this.#length += part.length
    this.#options.budget.spend(part.length)
    if (this.#length <= longestExpansion) return part
    throw new ExpansionError(
      `${shown(this.#text)} expands to more than ${longestExpansion / 1024} KiB; use shorter variables`,
    )
  }

  #singleQuoted(): string {
    const end = this.#text.indexOf("'", this.#at)
    if (end < 0) throw new ExpansionError(`a single quote is not closed in ${shown(this.#text)}`)
    const inside = this.#text.slice(this.#at, end)
    this.#at = end + 1
    return this.#grown(inside)
  }

  #doubleQuoted(): string {
    const { escapeChar } = this.#options
    let out = ''
    for (;;) {
      const char = this.#text[this.#at++]
      if (char === undefined) throw new ExpansionError(`a double quote is not closed in ${shown(this.#text)}`)
      if (char === '"') return out
      const next = this.#text[this.#at]
      if (char === escapeChar && (next === '"' || next === '$' || next === escapeChar)) {
        out += this.#grown(next)
        this.#at++
      } else if (char === '$') out += this.#variable()
      else out += this.#grown(char)
    }
  }

  #variable(): string {
    if (this.#text[this.#at] === '{') return this.#braced()
    const name = this.#name()
    return this.#grown(name === '' ? '$' : (this.#lookup(name) ?? ''))
  }

  #name(): string {
    variableName.lastIndex = this.#at
    const name = variableName.exec(this.#text)?.[0] ?? ''
    this.#at += name.length
    return name
  }

  #braced(): string {
    const start = this.#at++
    const name = this.#name()
    const value = name === '' ? undefined : this.#lookup(name)
    const operator = /:?[-+?]|\}/y
    operator.lastIndex = this.#at
    const found = name === '' ? undefined : operator.exec(this.#text)?.[0]
    if (found === undefined)
      throw new ExpansionError(`unsupported substitution $${shown(this.#text.slice(start))}`)
    this.#at += found.length
    if (found === '}') return this.#grown(value ?? '')
    // Always expanded, as Docker's builder does, so that it counts toward the limits.
    const other = this.#nested()
    const isSet = value !== undefined && (!found.startsWith(':') || value !== '')
    if (found.endsWith('+')) return isSet ? other : ''
    if (isSet) return this.#grown(value)
    if (found.endsWith('-')) return other
    throw new ExpansionError(`${name}: ${other || 'is not set'}`)
  }

  #nested(): string {
    if (++this.#depth > deepestNesting)
      throw new ExpansionError(`more than ${deepestNesting} substitutions lie within each other`)
    const word = this.#until('}')
    this.#depth--
    return word
  }
}

function shown(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
