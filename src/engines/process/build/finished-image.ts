import { existsSync } from 'node:fs'
import path from 'node:path'
import { type BuildSpec, EngineFailure } from '../../engine.ts'
import type { ProcessImage } from '../image-store.ts'
import type { BuildStage } from './stage.ts'

/** The start command of the last stage. Throws `build step` if there is none. */
export function finishedImage(
  spec: BuildSpec,
  stage: BuildStage,
  find: (name: string) => string | null,
): ProcessImage {
  const { base, env, workdir, entrypoint } = stage
  const cmd = stage.takesCmd ? stage.cmd : null
  if (!entrypoint?.length && !cmd?.length && !spec.runsCommands)
    throw new EngineFailure(
      'build step',
      'The Dockerfile has no command to run. Add CMD ["program", "argument"].',
    )
  return {
    appEnvId: spec.appEnvId,
    contentId: spec.contentId,
    runtime: base.runtime,
    workdir,
    env,
    entrypoint,
    cmd: entrypoint === null && cmd !== null && startsNode(stage, cmd, find) ? ['node', ...cmd] : cmd,
  }
}

/** As the official node image, starts `node` if the first word is an option or not a program. */
function startsNode(
  { base, workdir, paths }: BuildStage,
  cmd: readonly string[],
  find: (name: string) => string | null,
): boolean {
  const first = cmd[0] ?? ''
  if (base.runtime !== 'node') return false
  if (first.startsWith('-')) return true
  if (first.includes('/') || find(first)) return false
  return existsSync(paths.toHost(path.posix.resolve(workdir, first)))
}
