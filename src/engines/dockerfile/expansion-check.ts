import { yieldAlone } from '../../pacer.ts'
import { EngineFailure } from '../engine.ts'
import { ExpansionBudget, type Lookup } from './expand.ts'
import { assertFewSources, assertStageLimits, LineWords } from './line-words.ts'
import { jsonListsIn, type LogicalLine, type Reading, readingsOf } from './readings.ts'

/** The parts of an image that the stage starting from it inherits. */
export interface BaseImage {
  env: ReadonlyMap<string, string>
  /** Its ONBUILD instructions, which run right after FROM. */
  triggers: readonly string[]
}

interface Stage {
  /** Lower case; null without `AS`. */
  name: string | null
  env: Map<string, string>
  args: Map<string, string>
  triggers: string[]
}

/** Instructions that the builder expands, besides FROM, ARG and ENV. */
const expanded = new Set('ADD COPY EXPOSE LABEL STOPSIGNAL USER VOLUME WORKDIR'.split(' '))

/** Instructions whose arguments Docker's builder also parses, in more than linear time. The same holds for flags. */
const parsed = new Set(['EXPOSE', 'STOPSIGNAL', 'USER'])
const longestParsed = 1_000
/** Characters of all instructions together: a trigger of ONBUILD is read again in each stage that starts from it. */
const mostRead = 512 * 1024
/** About a millisecond of work. */
const readBetweenYields = 8 * 1024
const platformFlag = /^--platform=(?:[A-Za-z0-9_-]{1,32}(?:\/[A-Za-z0-9._-]{1,32}){0,2})?$/

/**
 * Expands the variables of a Dockerfile before the engine does: Docker's builder has no limit, takes all memory and
 * continues for hours after the client disconnects. Throws `build step` if the expansion is too large or cannot be
 * determined. `baseOf` returns what an image in FROM contributes.
 */
export async function checkExpansion(
  dockerfile: string,
  buildArgs: Readonly<Record<string, string>>,
  baseOf: (image: string) => Promise<BaseImage>,
): Promise<void> {
  const bases = new Map<string, Promise<BaseImage>>()
  const baseOnce = (image: string) => {
    const base = bases.get(image) ?? baseOf(image)
    bases.set(image, base)
    return base
  }
  for (const { reading, lines } of readingsOf(dockerfile))
    await new ExpansionCheck(new Map(Object.entries(buildArgs)), baseOnce, reading).run(lines)
}

class ExpansionCheck {
  readonly #buildArgs: ReadonlyMap<string, string>
  readonly #baseOf: (image: string) => Promise<BaseImage>
  readonly #words: LineWords
  readonly #globalArgs = new Map<string, string>()
  readonly #stages: Stage[] = []
  #read = 0
  #readSinceYield = 0

  constructor(
    buildArgs: ReadonlyMap<string, string>,
    baseOf: (image: string) => Promise<BaseImage>,
    { escapeChar }: Reading,
  ) {
    this.#buildArgs = buildArgs
    this.#baseOf = baseOf
    this.#words = new LineWords({ escapeChar, budget: new ExpansionBudget() })
  }

  async run(lines: readonly LogicalLine[]): Promise<void> {
    for (const { line, text } of lines) {
      await this.#reading(line, text)
      const [keyword, args] = keywordOf(text)
      if (keyword === 'FROM') await this.#from(line, args)
      else if (keyword === 'ONBUILD') this.#stages.at(-1)?.triggers.push(args)
      else this.#carryOut(line, keyword, args)
    }
  }

  async #reading(line: number, text: string): Promise<void> {
    this.#read += text.length
    this.#readSinceYield += text.length
    if (this.#read > mostRead)
      throw refused(line, `the Dockerfile has more than ${mostRead / 1024} KiB with its ONBUILD triggers.`)
    if (this.#readSinceYield < readBetweenYields) return
    this.#readSinceYield = 0
    await yieldAlone()
  }

  get #lookup(): Lookup {
    const stage = this.#stages.at(-1)
    if (!stage) return (name) => this.#globalArgs.get(name)
    return (name) => stage.env.get(name) ?? stage.args.get(name)
  }

  #carryOut(line: number, keyword: string, args: string): void {
    if (keyword === 'ARG') this.#arg(line, args)
    if (keyword === 'ENV') {
      const values = this.#words.assignments(line, args, this.#lookup)
      const stage = this.#stages.at(-1)
      for (const [name, value] of values) stage?.env.set(name, value)
      assertStageLimits(line, this.#stages.length, stage?.env.size ?? 0)
    }
    if (!expanded.has(keyword)) return
    const readings = [this.#words.split(args), ...jsonListsIn(args)]
    for (const words of readings)
      if (keyword === 'ADD' || keyword === 'COPY')
        assertFewSources(line, words.filter((word) => !word.startsWith('--')).length)
    for (const word of readings.flat()) {
      const value = this.#words.expand(line, word, this.#lookup)
      if ((parsed.has(keyword) || word.startsWith('--')) && value.length > longestParsed)
        throw refused(line, `${keyword} has a word of more than ${longestParsed} characters.`)
    }
  }

  async #from(line: number, args: string): Promise<void> {
    const all = this.#words.split(args)
    const words = all.filter((word) => !word.startsWith('--'))
    for (const flag of all.filter((word) => word.startsWith('--'))) this.#fromFlag(line, flag)
    const image = this.#words.expand(line, words[0] ?? '', (name) => this.#globalArgs.get(name))
    const earlier = this.#stages.find(({ name }) => name === image.toLowerCase())
    const base = earlier ?? (await this.#baseOf(image))
    this.#stages.push({
      name: words[2]?.toLowerCase() ?? null,
      env: new Map(base.env),
      args: new Map(),
      triggers: [],
    })
    assertStageLimits(line, this.#stages.length, base.env.size)
    for (const trigger of base.triggers) {
      await this.#reading(line, trigger)
      this.#carryOut(line, ...keywordOf(trigger))
    }
  }

  /** Docker's builder takes minutes to parse a long platform and delays other builds meanwhile. */
  #fromFlag(line: number, flag: string): void {
    const value = this.#words.expand(line, flag, (name) => this.#globalArgs.get(name))
    if (platformFlag.test(value)) return
    throw refused(line, 'FROM takes --platform=os[/arch[/variant]] only, such as --platform=linux/amd64.')
  }

  #arg(line: number, args: string): void {
    const stage = this.#stages.at(-1)
    for (const word of this.#words.split(args)) {
      const [, name = '', given] = /^([^=]*)(?:=(.*))?$/s.exec(word) ?? []
      if (/["'\\`$]/.test(name))
        throw refused(line, `ARG ${name.slice(0, 100)}: write the name without quotes and variables.`)
      const fallback = given === undefined ? undefined : this.#words.expand(line, given, this.#lookup)
      const value = this.#buildArgs.get(name) ?? fallback ?? (stage ? this.#globalArgs.get(name) : undefined)
      if (value !== undefined) (stage?.args ?? this.#globalArgs).set(name, value)
    }
  }
}

function keywordOf(text: string): [keyword: string, args: string] {
  const [, word = '', args = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text) ?? []
  return [word.toUpperCase(), args]
}

function refused(line: number, why: string): EngineFailure {
  return new EngineFailure('build step', `Dockerfile line ${line}: ${why}`)
}
