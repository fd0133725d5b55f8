import { EngineFailure } from '../engine.ts'
import { splitWords } from './expand.ts'
import { assertReadable, type LogicalLine, logicalLine } from './readings.ts'

/** One instruction: continued lines are joined, comments between them removed. */
export interface Instruction {
  /** Upper case. */
  keyword: string
  /** Counted from 1. */
  line: number
  flags: { name: string; value: string | null }[]
  /** Arguments after the flags, variables not expanded; here-documents follow unchanged, one line each. */
  text: string
  /** Arguments of the exec (JSON) form; null for the shell form. */
  exec: string[] | null
  /** Names of the here-documents it opens; their text is also in `text`. */
  heredocs: string[]
}

const known = new Set(
  'ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL MAINTAINER ONBUILD RUN SHELL STOPSIGNAL USER VOLUME WORKDIR'.split(
    ' ',
  ),
)
const withFlags = new Set('ADD COPY FROM HEALTHCHECK RUN'.split(' '))
const withHeredocs = new Set('ADD COPY RUN'.split(' '))

export interface ParsedDockerfile {
  instructions: Instruction[]
  /** `\` unless the file's `escape` directive says otherwise. */
  escapeChar: string
}

/** Throws `build step` with the line number for invalid instructions. Takes time proportional to the text. */
export function parseDockerfile(text: string): ParsedDockerfile {
  assertReadable(text)
  const lines = text.replace(/^\ufeff/, '').split(/\r?\n/)
  const escapeChar = escapeDirective(lines)
  const instructions: Instruction[] = []
  for (let index = 0; index < lines.length; ) {
    const { next, ...one } = logicalLine(lines, index, { escapeChar, doubledContinues: false })
    const instruction = one.text === '' ? null : toInstruction(one, escapeChar)
    index = instruction ? takeHeredocs(instruction, lines, next) : next
    if (instruction) instructions.push(instruction)
  }
  assertKnown(instructions)
  return { instructions, escapeChar }
}

function assertKnown(instructions: readonly Instruction[]): void {
  if (instructions.length === 0) throw new EngineFailure('build step', 'The Dockerfile has no instructions.')
  for (const { keyword, line, text } of instructions) {
    if (!known.has(keyword))
      throw failure(
        line,
        `unknown instruction ${keyword.slice(0, 40)}. Check its spelling, or join it to the line before with a backslash.`,
      )
    if (text === '') throw failure(line, `${keyword} needs an argument.`)
  }
  const first = instructions.find(({ keyword }) => keyword !== 'ARG')
  if (first?.keyword !== 'FROM')
    throw failure(first?.line ?? 1, 'the first instruction must be FROM (only ARG may come before it).')
}

/** Directives are the first lines, before any other comment. */
function escapeDirective(lines: readonly string[]): string {
  for (const line of lines) {
    const [, name, value] = /^\s*#\s*([A-Za-z]+)\s*=\s*(\S+)\s*$/.exec(line) ?? []
    if (name === undefined) return '\\'
    if (name.toLowerCase() === 'escape') return value === '`' ? '`' : '\\'
  }
  return '\\'
}

function toInstruction({ line, text }: LogicalLine, escapeChar: string): Instruction {
  const [, word = '', args = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text) ?? []
  const keyword = word.toUpperCase()
  const { flags, rest } = withFlags.has(keyword) ? takeFlags(args) : { flags: [], rest: args }
  const heredocs = withHeredocs.has(keyword)
    ? splitWords(rest, escapeChar).flatMap((one) => /^\d*<<-?(["']?)([\w.-]+)\1$/.exec(one)?.[2] ?? [])
    : []
  return { keyword, line, flags, text: rest, exec: heredocs.length > 0 ? null : execForm(rest), heredocs }
}

function takeFlags(args: string): { flags: Instruction['flags']; rest: string } {
  const flags: Instruction['flags'] = []
  const flag = /--([\w-]+)(?:=(\S*))?(?:\s+|$)/y
  let at = 0
  for (let found = flag.exec(args); found; found = flag.exec(args)) {
    flags.push({ name: found[1]!, value: found[2] ?? null })
    at = flag.lastIndex
  }
  return { flags, rest: args.slice(at) }
}

/** Appends the here-documents to the instruction's text; returns the index of the line after them. */
function takeHeredocs(instruction: Instruction, lines: readonly string[], from: number): number {
  let next = from
  for (const name of instruction.heredocs) {
    let end = next
    while (end < lines.length && lines[end]!.replace(/^\t+/, '') !== name) end += 1
    if (end === lines.length)
      throw failure(instruction.line, `the here-document ${name.slice(0, 40)} has no end.`)
    instruction.text += `\n${lines.slice(next, end + 1).join('\n')}`
    next = end + 1
  }
  return next
}

/** As in Docker, text that does not parse as a JSON array of strings is the shell form. */
function execForm(text: string): string[] | null {
  if (!text.startsWith('[')) return null
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) && value.every((word) => typeof word === 'string') ? value : null
  } catch {
    return null
  }
}

function failure(line: number, why: string): EngineFailure {
  return new EngineFailure('build step', `Dockerfile line ${line}: ${why}`)
}
