import { DockerfileParser, type Instruction as ParsedInstruction } from 'dockerfile-ast'
import { EngineFailure } from '../engine.ts'

/** One instruction, its continued lines joined and comments between them taken out. */
export interface Instruction {
  /** Upper case. */
  keyword: string
  /** Counted from 1. */
  line: number
  flags: { name: string; value: string | null }[]
  /** Arguments after the flags, variables not expanded. */
  text: string
  /** Arguments of the exec (JSON) form; null when it is not that form. */
  exec: string[] | null
  /** Names of here-documents it opens; their text is still in `text`. */
  heredocs: string[]
}

const known = new Set(
  'ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR'.split(
    ' ',
  ),
)

/** In bytes. Parsing takes time in the platform's own process: about a second for the worst text of this length. */
export const longestText = 128 * 1024

export interface ParsedDockerfile {
  instructions: Instruction[]
  /** `\` unless the file's `escape` directive says otherwise. */
  escapeChar: string
}

/** Throws `build step` naming the line for what no Dockerfile may hold. */
export function parseDockerfile(text: string): ParsedDockerfile {
  if (Buffer.byteLength(text) > longestText)
    throw new EngineFailure(
      'build step',
      `The Dockerfile is longer than ${longestText / 1024} KiB; shorten it.`,
    )
  const parsed = DockerfileParser.parse(text.replace(/^\ufeff/, ''))
  const escapeChar = parsed.getEscapeCharacter()
  const instructions = parsed.getInstructions().map((one) => toInstruction(one, escapeChar))
  if (instructions.length === 0) throw new EngineFailure('build step', 'The Dockerfile has no instructions.')
  for (const { keyword, line, text: rest } of instructions) {
    if (!known.has(keyword))
      throw new EngineFailure(
        'build step',
        `Dockerfile line ${line}: unknown instruction ${keyword.slice(0, 40)}. Check its spelling, or join it to the line before with a backslash.`,
      )
    if (rest === '')
      throw new EngineFailure('build step', `Dockerfile line ${line}: ${keyword} needs an argument.`)
  }
  const first = instructions.find(({ keyword }) => keyword !== 'ARG')
  if (first?.keyword !== 'FROM')
    throw new EngineFailure(
      'build step',
      `Dockerfile line ${first?.line ?? 1}: the first instruction must be FROM (only ARG may come before it).`,
    )
  return { instructions, escapeChar }
}

interface WithFlags {
  getFlags?(): { getName(): string; getValue(): string | null }[]
  getHeredocs?(): { getName(): string }[]
}

function toInstruction(parsed: ParsedInstruction, escapeChar: string): Instruction {
  const extra = parsed as unknown as WithFlags
  const heredocs = (extra.getHeredocs?.() ?? []).map((heredoc) => heredoc.getName())
  const raw = parsed.getRawArgumentsContent() ?? ''
  const text = heredocs.length > 0 ? raw : joinLines(raw, escapeChar)
  return {
    keyword: parsed.getKeyword(),
    line: parsed.getRange().start.line + 1,
    flags: (extra.getFlags?.() ?? []).map((flag) => ({ name: flag.getName(), value: flag.getValue() })),
    text,
    exec: heredocs.length > 0 ? null : execForm(text),
    heredocs,
  }
}

/** Joins continued lines; comment and blank lines between them are not part of the instruction. */
function joinLines(raw: string, escapeChar: string): string {
  const lines = raw.split(/\r?\n/)
  return lines
    .filter((line, index) => index === 0 || !/^\s*(#.*)?$/.test(line))
    .map((line) => {
      const trimmed = line.trimEnd()
      return trimmed.endsWith(escapeChar) ? trimmed.slice(0, -1) : line
    })
    .join('')
    .trim()
}

/** As Docker: what does not parse as a JSON array of strings is the shell form. */
function execForm(text: string): string[] | null {
  if (!text.startsWith('[')) return null
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) && value.every((word) => typeof word === 'string') ? value : null
  } catch {
    return null
  }
}
