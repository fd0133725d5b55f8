import { EngineFailure } from '../engine.ts'
import { imageNamespace } from './docker-spec.ts'
import { readingsOf } from './dockerfile-instructions.ts'

/**
 * Refuses a FROM or COPY --from that names an image as only the machine knows it: by its id, of which the engine takes
 * any few first digits, or by a name the platform gave. One tenant would read what another built. Throws
 * `EngineFailure('build step')`.
 */
export function refuseOthersImages(dockerfile: string, buildArgs: Readonly<Record<string, string>>): void {
  for (const instructions of readingsOf(dockerfile)) checkReading(instructions, buildArgs)
}

function checkReading(instructions: readonly string[], buildArgs: Readonly<Record<string, string>>): void {
  const args = new Map<string, string>()
  let isUnderstood = true
  // Of the stages that are finished; the one under way cannot be named yet.
  const stages: string[] = []
  let stage: string | null = null
  for (const instruction of instructions) {
    const written = instruction.replace(/^(?:ONBUILD\s+)+/i, '').split(/\s+/)
    // The engine takes quotes and escapes off.
    const words = written.map(bare)
    const keyword = words[0]!.toUpperCase()
    if (keyword === 'ARG' && stage === null) {
      isUnderstood &&= !written.some(mayGoOn)
      declare(words.slice(1), args, buildArgs)
    }
    if (keyword === 'FROM') {
      if (written.some(mayGoOn)) throw refused(instruction)
      if (stage !== null) stages.push(stage)
      const [image = '', , name = ''] = words.slice(1).filter((word) => !word.startsWith('--'))
      const meant = isUnderstood ? expanded(image, args) : image
      if (!stages.includes(meant.toLowerCase())) checkImage(meant, image)
      stage = name.toLowerCase()
    }
    if (keyword !== 'COPY') continue
    for (const word of words) {
      const from = /^--from=(.*)$/i.exec(word)?.[1]
      if (from === undefined || stages.includes(from.toLowerCase())) continue
      if (!/^\d{1,4}$/.test(from) || Number(from) >= stages.length) checkImage(from, from)
    }
  }
}

function bare(word: string): string {
  return word.replaceAll(/["'\\`]/g, '')
}

/** Whether quotes or escapes may make the engine read on beyond this word. */
function mayGoOn(word: string): boolean {
  const quotes = word.replaceAll(/[^"']/g, '')
  return /[\\`]/.test(word) || quotes.length % 2 === 1 || new Set(quotes).size > 1
}

function declare(
  words: readonly string[],
  args: Map<string, string>,
  buildArgs: Readonly<Record<string, string>>,
): void {
  for (const word of words) {
    const [, name = '', value] = /^([^=]*)(?:=(.*))?$/s.exec(word) ?? []
    const given = Object.hasOwn(buildArgs, name) ? buildArgs[name] : undefined
    const said = given ?? (value === undefined ? undefined : expanded(value, args))
    if (said !== undefined) args.set(name, said)
  }
}

const variable = /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?)([-+])([^${}]*))?\})/

/** With its variables replaced, the innermost first; what is not understood stays as it is. */
function expanded(text: string, args: ReadonlyMap<string, string>): string {
  let left = text
  for (let round = 0; round < 100 && variable.test(left); round += 1) {
    left = left.replace(variable, (_all, plain, braced, colon, operator, other = '') => {
      const value = args.get(plain ?? braced)
      const isSet = value !== undefined && (value !== '' || colon !== ':')
      if (operator === '-') return isSet ? value : other
      if (operator === '+') return isSet ? other : ''
      return value ?? ''
    })
  }
  return left
}

function checkImage(meant: string, written: string): void {
  const name = meant.replace(/^(?:index\.)?docker\.io\//, '')
  const isId = /^(?:sha256:)?[0-9a-f]*$/i.test(meant)
  const isOurs = name.startsWith(imageNamespace) || name.startsWith('longshore-stage/')
  // A variable that is not understood may be any of these.
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
