import { EngineFailure } from '../engine.ts'
import { ExpansionError, expandWord, type Lookup, splitWords } from './dockerfile-words.ts'
import type { Base } from './host-runtimes.ts'
import { ImagePaths } from './image-paths.ts'

/** What FROM begins and the instructions after it change; values only, no effects. */
export interface BuildStage {
  index: number
  /** From `AS`; null without. */
  name: string | null
  base: Base
  paths: ImagePaths
  workdir: string
  env: Record<string, string>
  /** Declared ARGs that have a value. */
  args: Record<string, string>
  shell: string[]
  entrypoint: string[] | null
  /** False after the shell form of ENTRYPOINT: it takes no arguments, as in Docker. */
  takesCmd: boolean
  cmd: string[] | null
}

export function newStage(index: number, name: string | null, base: Base, root: string): BuildStage {
  return {
    index,
    name,
    base,
    paths: new ImagePaths(root),
    workdir: '/',
    env: {},
    args: {},
    shell: ['/bin/sh', '-c'],
    entrypoint: null,
    takesCmd: true,
    cmd: base.cmd,
  }
}

/** `FROM <stage>`: the settings of the earlier stage, in a tree of its own; its ARGs do not come along. */
export function inheritStage(index: number, name: string | null, from: BuildStage, root: string): BuildStage {
  return { ...from, index, name, paths: new ImagePaths(root), env: { ...from.env }, args: {} }
}

/** ENV wins over ARG, as in Docker. */
export function stageLookup(stage: BuildStage, searchPath: string): Lookup {
  return (name) => stage.env[name] ?? stage.args[name] ?? (name === 'PATH' ? searchPath : undefined)
}

/** Expands one word or says which line cannot be. */
export function expandAt(line: number, text: string, lookup: Lookup, escapeChar: string): string {
  try {
    return expandWord(text, lookup, escapeChar)
  } catch (error) {
    if (!(error instanceof ExpansionError)) throw error
    throw new EngineFailure('build step', `Dockerfile line ${line}: ${error.message}.`)
  }
}

/** `A=b C="d e"`, or the old form `A b c` with one variable. */
export function assignments(
  line: number,
  text: string,
  lookup: Lookup,
  escapeChar: string,
): [string, string][] {
  const words = splitWords(text, escapeChar)
  const first = words[0]!
  if (!first.includes('=')) {
    const value = text.slice(first.length).trim()
    if (value === '')
      throw new EngineFailure(
        'build step',
        `Dockerfile line ${line}: ${first} needs a value: ${first}=value.`,
      )
    return [[first, expandAt(line, value, lookup, escapeChar)]]
  }
  return words.map((word) => {
    const at = word.indexOf('=')
    if (at <= 0)
      throw new EngineFailure('build step', `Dockerfile line ${line}: ${word} is not of the form name=value.`)
    const name = expandAt(line, word.slice(0, at), lookup, escapeChar)
    return [name, expandAt(line, word.slice(at + 1), lookup, escapeChar)]
  })
}
