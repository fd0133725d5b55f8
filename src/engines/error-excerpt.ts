import { isNoise } from '../domain/diagnosis/log-noise.ts'

const mostNaming = 5
const mostLast = 8
const longestShown = 300

/** How compilers, package managers and shells begin the line with the actual error. */
const namesError =
  /\b(?:error|fatal|panic|exception|traceback|err!)\b|(?:Error|Exception)\b|\b(?:cannot|can't|could not|unable to|not found|no such|denied|refused|no space left|out of memory|undefined reference|unresolved|killed)\b/i
/** Error words in lines that report no error, or that only quote an option. */
const namesNoError = /\b(?:no|0|without) (?:errors?|fatal)\b|\b(?:warn|warning|deprecated)\b|--\S*error/i
/** Help that programs print after an error, which hides it. */
const startsHelp = /(?:^|\s)(?:usage|options|aliases|examples?|flags|commands):?\s*$|^\s*usage:/i

/**
 * Keeps the part of a failed step's output that should be shown: the lines that name the error, else the last ones.
 * Memory is bounded for any output.
 */
export class ErrorExcerpt {
  #naming: string[] = []
  #isNaming = false
  #isHelp = false
  #last: { line: string; names: boolean }[] = []

  add(line: string): void {
    if (isNoise(line)) return
    const shown = line.length > longestShown ? `${line.slice(0, longestShown)}…` : line
    if (startsHelp.test(shown)) this.#isHelp = true
    const names = !this.#isHelp && namesError.test(shown) && !namesNoError.test(shown)
    if (this.#naming.length === 0) this.#isNaming = names
    if (this.#isHelp || this.#naming.length === mostNaming) this.#isNaming = false
    if (this.#isNaming) this.#naming.push(shown)
    this.#last.push({ line: shown, names })
    if (this.#last.length > mostLast) this.#last.shift()
  }

  /** Returns the lines since the last call that name an error, or the last lines if none does. */
  take(): string[] {
    const [naming, last] = [this.#naming, this.#last]
    this.clear()
    if (naming.length === 0) return last.map(({ line }) => line)
    const later = last.filter(({ line, names }) => names && !naming.includes(line)).map(({ line }) => line)
    return [...naming, ...(later.length > 0 ? ['…', ...later] : [])]
  }

  clear(): void {
    this.#naming = []
    this.#last = []
    this.#isNaming = false
    this.#isHelp = false
  }
}
