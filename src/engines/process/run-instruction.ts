import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { EngineFailure } from '../engine.ts'
import type { BuildLog } from './build-log.ts'
import type { BuildStage } from './build-stage.ts'
import type { Instruction } from './dockerfile.ts'
import type { StepRequest, StepResult } from './protocol.ts'

/** A RUN that takes longer than this is hung; the whole build has its own limit through the signal. */
const stepTimeoutMs = 30 * 60 * 1000

export interface BuildTools {
  log: BuildLog
  /** Folder of the image; `root/` becomes its tree. */
  imageDir: string
  shimsDir: string
  /** Name of the image that presets start from; null when none is set. */
  nodeImage: string | null
  signal: AbortSignal
  runStep(
    step: StepRequest,
    onOutput: (stream: 'stdout' | 'stderr', message: string) => void,
  ): Promise<StepResult>
}

/** RUN: the tenant's own commands, in the mapped WORKDIR, with ARG and ENV and nothing of the platform's. */
export async function runInstruction(
  instruction: Instruction,
  stage: BuildStage,
  tools: BuildTools,
  searchPath: string,
): Promise<void> {
  const { log } = tools
  noteMounts(instruction, log)
  log.takeLast()
  const result = await tools.runStep(await stepOf(instruction, stage, tools, searchPath), (stream, message) =>
    log.output(stream, message),
  )
  tools.signal.throwIfAborted()
  if (result.exitCode === 0 && !result.timedOut) return
  const last = log.takeLast().join('\n')
  const how = result.timedOut ? 'did not end within 30 minutes' : `failed with exit code ${result.exitCode}`
  throw new EngineFailure(
    'build step',
    `Dockerfile line ${instruction.line}: RUN ${log.mask(instruction.text).slice(0, 500)} ${how}${last ? `:\n${last}` : '.'}`,
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
  { imageDir, shimsDir }: BuildTools,
  searchPath: string,
): Promise<StepRequest> {
  const home = path.join(imageDir, 'home')
  await mkdir(home, { recursive: true })
  return {
    argv: instruction.exec
      ? paths.mapWords(instruction.exec, true)
      : [...shell, paths.mapShellText(scriptOf(instruction), true)],
    cwd: paths.toHost(workdir),
    env: {
      ...args,
      ...env,
      HOME: home,
      PATH: `${shimsDir}:${paths.mapPathList(env.PATH ?? searchPath)}`,
    },
    timeoutMs: stepTimeoutMs,
  }
}

/** A RUN that is one here-document is that script; otherwise the shell reads the document itself. */
function scriptOf({ text, heredocs }: Instruction): string {
  const alone = heredocs.length === 1 ? /^<<-?(["']?)(\S+?)\1\r?\n([\s\S]*?)\r?\n?\2\s*$/.exec(text) : null
  return alone ? alone[3]! : text
}
