import { ExpansionBudget, ExpansionError, expandWord } from '../dockerfile/expand.ts'
import { readingsOf } from '../dockerfile/readings.ts'
import { EngineFailure } from '../engine.ts'
import { imageNamespace } from './image-names.ts'

/**
 * Rejects a FROM or COPY --from that refers to a local image by its id, which the engine also accepts abbreviated, or
 * by a name that the platform assigned: one tenant would read another tenant's build. Throws `EngineFailure('build
 * step')`.
 */
export function refuseOthersImages(dockerfile: string, buildArgs: Readonly<Record<string, string>>): void {
  for (const { lines } of readingsOf(dockerfile))
    checkReading(
      lines.map(({ text }) => text),
      buildArgs,
    )
}

function checkReading(instructions: readonly string[], buildArgs: Readonly<Record<string, string>>): void {
  const args = new Map<string, string>()
  const budget = new ExpansionBudget()
  let isUnderstood = true
  // Only finished stages: the current one has no usable name yet.
  const stages = new Set<string>()
  let finished = 0
  let stage: string | null = null
  for (const instruction of instructions) {
    const written = instruction.replace(/^(?:ONBUILD\s+)+/i, '').split(/\s+/)
    // The engine removes quotes and escapes.
    const words = written.map(bare)
    const keyword = words[0]!.toUpperCase()
    if (keyword === 'ARG' && stage === null) {
      isUnderstood &&= !written.some(mayGoOn)
      declare(words.slice(1), { args, buildArgs, budget })
    }
    if (keyword === 'FROM') {
      if (written.some(mayGoOn)) throw refused(instruction)
      if (stage !== null) {
        stages.add(stage)
        finished += 1
      }
      const [image = '', , name = ''] = words.slice(1).filter((word) => !word.startsWith('--'))
      const meant = isUnderstood ? expanded(image, args, budget) : image
      if (!stages.has(meant.toLowerCase())) checkImage(meant, image)
      stage = name.toLowerCase()
    }
    if (keyword !== 'COPY') continue
    for (const word of words) {
      const from = /^--from=(.*)$/i.exec(word)?.[1]
      if (from === undefined || stages.has(from.toLowerCase())) continue
      if (!/^\d{1,4}$/.test(from) || Number(from) >= finished) checkImage(from, from)
    }
  }
}

function bare(word: string): string {
  return word.replaceAll(/["'\\`]/g, '')
}

/** Whether quotes or escapes may make the engine read past the end of this word. */
function mayGoOn(word: string): boolean {
  const quotes = word.replaceAll(/[^"']/g, '')
  return /[\\`]/.test(word) || quotes.length % 2 === 1 || new Set(quotes).size > 1
}

function declare(
  words: readonly string[],
  {
    args,
    buildArgs,
    budget,
  }: { args: Map<string, string>; buildArgs: Readonly<Record<string, string>>; budget: ExpansionBudget },
): void {
  for (const word of words) {
    const [, name = '', value] = /^([^=]*)(?:=(.*))?$/s.exec(word) ?? []
    const given = Object.hasOwn(buildArgs, name) ? buildArgs[name] : undefined
    const assigned = given ?? (value === undefined ? undefined : expanded(value, args, budget))
    if (assigned !== undefined) args.set(name, assigned)
  }
}

/** Expands the variables; a text that cannot be expanded is returned unchanged. */
function expanded(text: string, args: ReadonlyMap<string, string>, budget: ExpansionBudget): string {
  try {
    return expandWord(text, (name) => args.get(name), { escapeChar: '\\', budget })
  } catch (error) {
    if (error instanceof ExpansionError) return text
    throw error
  }
}

function checkImage(meant: string, written: string): void {
  const name = meant.replace(/^(?:index\.)?docker\.io\//, '')
  const isId = /^(?:sha256:)?[0-9a-f]*$/i.test(meant)
  const isOurs = name.startsWith(imageNamespace) || name.startsWith('longshore-stage/')
  // An unresolved variable may have any value, including an id or one of our names.
  if (!isId && !isOurs && !meant.includes('$')) return
  throw refused(written)
}

function refused(written: string): EngineFailure {
  const shown = written.length > 200 ? `${written.slice(0, 200)}…` : written
  return new EngineFailure(
    'build step',
    `${JSON.stringify(shown)} is no image that a build may use: name one of a registry, with its tag, such as node:22-alpine, or an earlier stage`,
  )
}
