import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import type { Instruction } from '../../dockerfile/parse.ts'
import { EngineFailure } from '../../engine.ts'
import type { EngineFiles } from '../engine-files.ts'
import { withBoundary } from '../module-boundary.ts'
import type { PrivateRoot } from '../private-root/private-root.ts'
import type { StepRequest, StepResult } from '../supervisor/protocol.ts'
import type { BuildLog } from './log.ts'
import type { BuildStage } from './stage.ts'

/** A RUN that takes longer is considered stuck; the signal limits the whole build. */
const stepTimeoutMs = 30 * 60 * 1000

export interface BuildTools {
  log: BuildLog
  /** Folder of the image; `root/` in it becomes the image's file tree. */
  imageDir: string
  files: EngineFiles
  /** Null if this machine offers none: steps then run on the machine itself, with paths rewritten. */
  privateRoot: PrivateRoot | null
  /** Name of the image that presets start from; null if not set. */
  nodeImage: string | null
  signal: AbortSignal
  runStep(
    step: StepRequest,
    onOutput: (stream: 'stdout' | 'stderr', message: string) => void,
  ): Promise<StepResult>
}

/** RUN: the tenant's commands in the mapped WORKDIR, with ARG and ENV and none of the platform's own variables. */
export async function runInstruction(
  instruction: Instruction,
  stage: BuildStage,
  tools: BuildTools,
  searchPath: string,
): Promise<void> {
  const { log } = tools
  noteMounts(instruction, log)
  log.takeExcerpt()
  const result = await tools.runStep(await stepOf(instruction, stage, tools, searchPath), (stream, message) =>
    log.output(stream, message),
  )
  tools.signal.throwIfAborted()
  if (result.exitCode === 0 && !result.timedOut) return
  const excerpt = log.takeExcerpt().join('\n')
  const how = result.timedOut ? 'did not end within 30 minutes' : `failed with exit code ${result.exitCode}`
  throw new EngineFailure(
    'build step',
    `Dockerfile line ${instruction.line}: RUN ${log.mask(instruction.text).slice(0, 200)} ${how}${excerpt ? `:\n${excerpt}` : '.'}`,
  )
}

function noteMounts(instruction: Instruction, log: BuildLog): void {
  for (const { name, value } of instruction.flags) {
    if (name !== 'mount' || !/type=(cache|tmpfs)/.test(value ?? ''))
      throw new EngineFailure(
        'build step',
        `Dockerfile line ${instruction.line}: the process engine does not know RUN --${name}=${value ?? ''}.`,
      )
    log.say('note: mounts have no meaning for the process engine')
  }
}

async function stepOf(
  instruction: Instruction,
  { paths, env, args, workdir, shell }: BuildStage,
  { imageDir, files, privateRoot }: BuildTools,
  searchPath: string,
): Promise<StepRequest> {
  if (privateRoot) {
    const argv = instruction.exec ?? [...shell, scriptOf(instruction)]
    const spec = { dir: path.join(imageDir, 'step'), image: paths.root, isBuild: true }
    const command = { argv, cwd: workdir, env: { ...args, ...env } }
    return { ...privateRoot.inside(spec, command), timeoutMs: stepTimeoutMs }
  }
  const home = path.join(imageDir, 'home')
  await mkdir(home, { recursive: true })
  return {
    argv: instruction.exec
      ? paths.mapWords(instruction.exec, true)
      : [...shell, paths.mapShellText(scriptOf(instruction), true)],
    cwd: paths.toHost(workdir),
    env: {
      ...withBoundary({ ...args, ...env }, files),
      HOME: home,
      PATH: `${files.shims}:${paths.mapPathList(env.PATH ?? searchPath)}`,
    },
    timeoutMs: stepTimeoutMs,
  }
}

/** A RUN that consists of one here-document runs it as a script; otherwise the shell reads the document itself. */
function scriptOf({ text, heredocs }: Instruction): string {
  const alone = heredocs.length === 1 ? /^<<-?(["']?)(\S+?)\1\r?\n([\s\S]*?)\r?\n?\2\s*$/.exec(text) : null
  return alone ? alone[3]! : text
}
