import { EngineFailure } from '../engine.ts'
import { type ExpandOptions, ExpansionError, expandWord, type Lookup, splitWords } from './expand.ts'

/** Each stage that starts from another one copies its variables. */
const mostStages = 100
const mostVariables = 1_000
/** Each may match every file of the source, and Docker's builder goes on copying after its client has disconnected. */
const mostSources = 100

/** Throws `build step` if a build has too many stages, or a stage too many variables. */
export function assertStageLimits(line: number, stages: number, variables: number): void {
  if (stages > mostStages) throw refused(line, `a Dockerfile may have ${mostStages} stages.`)
  if (variables > mostVariables) throw refused(line, `a stage may set ${mostVariables} variables by ENV.`)
}

/** Throws `build step` if a COPY or ADD has too many words; the last one is its destination. */
export function assertFewSources(line: number, words: number): void {
  if (words > mostSources + 1)
    throw refused(line, `COPY and ADD take ${mostSources} sources; copy a folder, or use wildcards.`)
}

/** Expands the words of one Dockerfile's instructions. Failures name the line. */
export class LineWords {
  readonly #options: ExpandOptions

  constructor(options: ExpandOptions) {
    this.#options = options
  }

  split(text: string): string[] {
    return splitWords(text, this.#options.escapeChar)
  }

  /** Throws `build step`. */
  expand(line: number, text: string, lookup: Lookup): string {
    try {
      return expandWord(text, lookup, this.#options)
    } catch (error) {
      if (!(error instanceof ExpansionError)) throw error
      throw new EngineFailure('build step', `Dockerfile line ${line}: ${error.message}.`)
    }
  }

  /** The variables of an ENV: `A=b C="d e"`, or the old form `A b c` with one variable. Throws `build step`. */
  assignments(line: number, text: string, lookup: Lookup): [name: string, value: string][] {
    const words = this.split(text)
    const first = words[0] ?? ''
    if (!first.includes('=')) {
      const [, name = '', value = ''] = /^([^\t\v\f\r ]*)[\t\v\f\r ]*([\s\S]*)$/.exec(text.trim()) ?? []
      if (value === '') throw refused(line, `${name} needs a value: ${name}=value.`)
      return [[this.#name(line, name, lookup), this.expand(line, value, lookup)]]
    }
    return words.map((word) => {
      const at = word.indexOf('=')
      if (at <= 0) throw refused(line, `${word.slice(0, 100)} is not of the form name=value.`)
      return [this.#name(line, word.slice(0, at), lookup), this.expand(line, word.slice(at + 1), lookup)]
    })
  }

  /** Builders disagree about quotes and escapes in a name. */
  #name(line: number, text: string, lookup: Lookup): string {
    if (/["'\\`]/.test(text))
      throw refused(line, `the name ${text.slice(0, 100)} has a quote or an escape in it; write it plainly.`)
    return this.expand(line, text, lookup)
  }
}

function refused(line: number, why: string): EngineFailure {
  return new EngineFailure('build step', `Dockerfile line ${line}: ${why}`)
}
