import { spawnChild } from '../../../spawn-child.ts'
import { LineSplitter } from '../../line-splitter.ts'
import { lastBytesOf, mostOfStep, OutputLimit } from '../../output-limit.ts'
import { readProcesses, treeOf } from '../supervisor/proc-tree.ts'
import type { StepRequest, StepResult } from '../supervisor/protocol.ts'

/** Runs one RUN of a build in its own process group. `cancel` kills the group. */
export function runBuildStep(
  step: StepRequest,
  onOutput: (stream: 'stdout' | 'stderr', message: string) => void,
): { result: Promise<StepResult>; cancel(): void } {
  const child = spawnChild(step.argv[0]!, step.argv.slice(1), {
    cwd: step.cwd,
    env: step.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let timedOut = false
  const kill = () => {
    if (child.pid === undefined) return
    for (const row of treeOf(child.pid, readProcesses())) tryKill(row.pid)
    tryKill(-child.pid)
  }
  const timer = setTimeout(() => {
    timedOut = true
    kill()
  }, step.timeoutMs)
  const output = new OutputLimit(mostOfStep, ({ stream, message }) => onOutput(stream, message))
  for (const stream of ['stdout', 'stderr'] as const) {
    const splitter = new LineSplitter((message) => output.add({ stream, message }))
    child[stream].on('data', (chunk: Buffer) => splitter.push(output.isReached ? lastBytesOf(chunk) : chunk))
    child[stream].once('end', () => splitter.end())
  }
  // Kill background processes of the step: they could keep the output open forever.
  child.once('exit', kill)
  const result = new Promise<StepResult>((resolve) => {
    child.once('error', (error) => {
      clearTimeout(timer)
      onOutput('stderr', `cannot start ${step.argv[0]}: ${(error as NodeJS.ErrnoException).code}`)
      resolve({ exitCode: 127, timedOut })
    })
    child.once('close', (code) => {
      clearTimeout(timer)
      output.end()
      resolve({ exitCode: code ?? 137, timedOut })
    })
  })
  return { result, cancel: kill }
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Already gone.
  }
}
