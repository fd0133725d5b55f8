import type { Lookup } from '../../dockerfile/expand.ts'
import type { Base } from '../host-runtimes.ts'
import type { ImagePaths } from '../image-paths.ts'

/** State that FROM creates and the following instructions change; plain values without effects. */
export interface BuildStage {
  index: number
  /** From `AS`; null without it. */
  name: string | null
  base: Base
  paths: ImagePaths
  workdir: string
  env: Record<string, string>
  /** Declared ARGs that have a value. */
  args: Record<string, string>
  shell: string[]
  entrypoint: string[] | null
  /** False after the shell form of ENTRYPOINT, which takes no arguments, as in Docker. */
  takesCmd: boolean
  cmd: string[] | null
}

export function newStage(index: number, name: string | null, base: Base, paths: ImagePaths): BuildStage {
  return {
    index,
    name,
    base,
    paths,
    workdir: '/',
    env: {},
    args: {},
    shell: ['/bin/sh', '-c'],
    entrypoint: null,
    takesCmd: true,
    cmd: base.cmd,
  }
}

/** `FROM <stage>`: the settings of the earlier stage with a new file tree; its ARGs are not inherited. */
export function inheritStage(
  index: number,
  name: string | null,
  from: BuildStage,
  paths: ImagePaths,
): BuildStage {
  return { ...from, index, name, paths, env: { ...from.env }, args: {} }
}

/** ENV wins over ARG, as in Docker. */
export function stageLookup(stage: BuildStage, searchPath: string): Lookup {
  return (name) =>
    ownValue(stage.env, name) ?? ownValue(stage.args, name) ?? (name === 'PATH' ? searchPath : undefined)
}

/** A variable may have the name of a method of Object.prototype. */
export function ownValue(values: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(values, name) ? values[name] : undefined
}
