import { setMaxListeners } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { AppError } from '../../errors.ts'
import { type CommandIo, errorText, exitCodes, UsageError } from '../command-io.ts'
import { createProgress, printable, readableDuration } from '../progress.ts'
import { type DemoAgent, startDemoAgent } from './agent.ts'
import { playAutonomy } from './autonomy.ts'
import { barChart } from './chart.ts'
import { cleanUpDemo } from './cleanup.ts'
import { type DemoCluster, demoCluster } from './cluster.ts'
import { playRemediation } from './remediation.ts'
import { DemoFailure, playStory } from './scenes.ts'
import type { Stage } from './stage.ts'

/** `longshore demo`: exit code 0 when every check passed, 1 when one failed, 130 after Ctrl-C. */
export async function runDemo(
  env: NodeJS.ProcessEnv,
  io: CommandIo,
  { engine, story }: { engine?: string | undefined; story?: string | undefined },
): Promise<number> {
  const interrupt = new AbortController()
  // Every request of a burst adds a listener.
  setMaxListeners(0, interrupt.signal)
  const stopListening = io.onInterrupt(() => interrupt.abort(new Error('interrupted')))
  try {
    const chosen = engine === undefined ? env : { ...env, LONGSHORE_ENGINE: engine }
    return await playInThrowAway(chosen, io, { signal: interrupt.signal, story: storyOf(story) })
  } catch (error) {
    io.stderr.write(`${errorText(error)}\n`)
    return exitCodes.failed
  } finally {
    stopListening()
  }
}

/** A function that scales, an agent whose change waits for a person, or a broken version that is repaired by itself. */
const stories = ['function', 'autonomy', 'remediation'] as const
type Story = (typeof stories)[number]

function storyOf(given: string = 'function'): Story {
  const story = stories.find((one) => one === given)
  if (story) return story
  throw new UsageError(`There is no demo ${given}: ${stories.join(' or ')}.`)
}

async function playInThrowAway(
  env: NodeJS.ProcessEnv,
  io: CommandIo,
  { signal, story }: { signal: AbortSignal; story: Story },
): Promise<number> {
  const root = packageRoot()
  const entry = path.join(root, 'dist', 'longshore.js')
  if (!existsSync(entry)) {
    throw new AppError('unavailable', 'Longshore is not built', { details: 'Run `npm run build` first.' })
  }
  const home = await mkdtemp(path.join(os.tmpdir(), 'longshore-demo-'))
  const scale = env.LONGSHORE_CLOCK_SCALE || '60'
  io.stdout.write(`A throw-away installation in ${home}, clock ${scale} x\n\n`)
  const startedMs = performance.now()
  const run: DemoRun = { io, home, signal, stage: null, agent: null, cluster: null }
  let childEnv = throwAwayEnv(env, home, scale)
  let failure: unknown = null
  try {
    if (env.LONGSHORE_ENGINE === 'kubernetes') {
      run.cluster = await demoCluster(env, home)
      childEnv = { ...childEnv, LONGSHORE_CONFIG: run.cluster.configFile }
    }
    await play(run, { root, entry, env: childEnv, story })
  } catch (error) {
    failure = signal.aborted ? signal.reason : error
    if (!signal.aborted) await tellFailure(run, error)
  }
  const problems = await cleanUpDemo({
    agent: (await run.agent?.catch(() => null)) ?? null,
    created: run.stage?.created ?? {},
    cluster: run.cluster,
    home,
    entry,
    env: childEnv,
  })
  for (const problem of problems) io.stderr.write(`Could not ${printable(problem)}\n`)
  const isClean = problems.length === 0
  if (signal.aborted) {
    io.stderr.write(
      `Interrupted; ${isClean ? 'everything was removed' : 'not everything could be removed'}.\n`,
    )
    return exitCodes.interrupted
  }
  const took = readableDuration(performance.now() - startedMs)
  if (failure === null && isClean) io.stdout.write(`\nAll checks passed in ${took}.\n`)
  else io.stdout.write(`\nThe demo failed after ${took}.\n`)
  return failure === null && isClean ? exitCodes.done : exitCodes.failed
}

interface DemoRun {
  io: CommandIo
  home: string
  signal: AbortSignal
  stage: Stage | null
  /** A promise, so that an interrupt during its start can end it. */
  agent: Promise<DemoAgent> | null
  /** Null on the engines of one machine. */
  cluster: DemoCluster | null
}

async function play(
  run: DemoRun,
  setting: { root: string; entry: string; env: NodeJS.ProcessEnv; story: Story },
) {
  const { io, home, signal } = run
  const step = createStepper(io, signal)
  const starting = startDemoAgent(setting.entry, setting.env)
  run.agent = starting
  await step('MCP over stdio', async () => {
    const tools = await (await starting).listTools()
    return `an agent connects and sees ${tools.length} tools`
  })
  const agent = await starting
  const stage: Stage = {
    agent,
    exampleDir: path.join(setting.root, 'examples', 'hello-function'),
    workDir: home,
    signal,
    step,
    samples: [],
    created: {},
    cluster: run.cluster,
  }
  run.stage = stage
  if (setting.story === 'autonomy') return playAutonomy(stage, setting)
  if (setting.story === 'remediation') {
    for (const sentence of await playRemediation(stage, setting))
      io.stdout.write(`\n  ${printable(sentence)}`)
    io.stdout.write('\n')
    return
  }
  await playStory(stage)
  io.stdout.write('\n  containers over time\n')
  for (const row of barChart(stage.samples)) io.stdout.write(`  ${row}\n`)
}

/** Prints each step at its end; a terminal also shows the running one. */
function createStepper(io: CommandIo, signal: AbortSignal): Stage['step'] {
  const progress = createProgress(io.stderr)
  const inTerminal = io.stderr.isTTY === true
  const interrupted = whenAborted(signal)
  return async (title, act) => {
    signal.throwIfAborted()
    if (inTerminal) progress.stage(title)
    const startedMs = performance.now()
    try {
      const showed = await Promise.race([act((text) => inTerminal && progress.update(text)), interrupted])
      progress.close()
      const ms = `${Math.round(performance.now() - startedMs)} ms`
      io.stdout.write(`✓ ${ms.padStart(8)}  ${title}: ${printable(showed)}\n`)
    } catch (error) {
      progress.close()
      if (!signal.aborted) io.stdout.write(`✗           ${title}\n`)
      throw error
    }
  }
}

/** Rejects when the signal aborts, without an unhandled rejection. */
function whenAborted(signal: AbortSignal): Promise<never> {
  const rejects = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  rejects.catch(() => {})
  return rejects
}

async function tellFailure({ io, agent }: DemoRun, error: unknown): Promise<void> {
  io.stderr.write(`\n${errorText(error)}\n`)
  const log = (await agent?.catch(() => null))?.serverLog().trim()
  if (log && !(error instanceof DemoFailure)) io.stderr.write(`\nOutput of the server:\n${log}\n`)
}

/** The demo ignores the caller's Longshore settings, except the engine. */
function throwAwayEnv(env: NodeJS.ProcessEnv, home: string, scale: string): NodeJS.ProcessEnv {
  const kept = Object.entries(env).filter(([name]) => !name.startsWith('LONGSHORE_'))
  return {
    ...Object.fromEntries(kept),
    LONGSHORE_HOME: path.join(home, 'home'),
    LONGSHORE_PORT: '0',
    LONGSHORE_GATEWAY_PORT: '0',
    LONGSHORE_CLOCK_SCALE: scale,
    LONGSHORE_LOG_LEVEL: env.LONGSHORE_LOG_LEVEL || 'warn',
    ...(env.LONGSHORE_ENGINE && env.LONGSHORE_ENGINE !== 'kubernetes'
      ? { LONGSHORE_ENGINE: env.LONGSHORE_ENGINE }
      : {}),
  }
}

/** The folder that contains `dist` and `examples`, independent of where the bundle put this code. */
function packageRoot(): string {
  let dir = path.dirname(fileURLToPath(import.meta.url))
  while (!existsSync(path.join(dir, 'package.json')) && path.dirname(dir) !== dir) dir = path.dirname(dir)
  return dir
}
