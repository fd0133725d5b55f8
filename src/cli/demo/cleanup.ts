import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile, rm } from 'node:fs/promises'
import { promisify } from 'node:util'
import { deleteAppEnv, getAppEnv } from '../../contract/app-envs.ts'
import type { DemoAgent } from './agent.ts'
import type { DemoCluster } from './cluster.ts'
import type { Stage } from './stage.ts'

const run = promisify(execFile)

/**
 * Removes everything that a demo created, also after a failure, and returns the problems. First deletes the environment
 * through the platform, then processes and files directly, in case the platform is broken.
 */
export async function cleanUpDemo(options: {
  agent: DemoAgent | null
  created: Stage['created']
  cluster: DemoCluster | null
  /** The folder of this run; it contains the data directory. */
  home: string
  entry: string
  env: NodeJS.ProcessEnv
}): Promise<string[]> {
  const { agent, created, home, entry, env } = options
  const problems: string[] = []
  const attempt = async (what: string, act: () => Promise<unknown>) => {
    try {
      await act()
    } catch (error) {
      problems.push(`${what}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const { appEnvId, image, engine } = created
  const { cluster } = options
  if (agent && appEnvId) {
    await attempt('delete the environment', async () => {
      const { cliEnvName } = await agent.call(getAppEnv, { appEnvId })
      await agent.call(deleteAppEnv, { appEnvId, confirm: cliEnvName })
    })
    if (cluster) await attempt('remove the objects in the cluster', () => objectsGone(cluster, appEnvId))
    if (engine === 'docker') await attempt('remove the containers', () => containersGone(appEnvId))
  }
  if (agent) await attempt('end the MCP server', () => agent.close())
  if (existsSync(env.LONGSHORE_HOME ?? home)) {
    await attempt('end the platform', () => run(process.execPath, [entry, 'stop'], { env, timeout: 30_000 }))
  }
  await attempt('end the background processes', () => ended(() => processesNaming(home)))
  if (image) await attempt('remove the base image', () => image.remove())
  await attempt('remove the folder', () =>
    rm(home, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }),
  )
  return problems
}

/** The platform removes the objects of the environment; the namespace of the account is this run's alone. */
async function objectsGone({ namespacePrefix }: DemoCluster, appEnvId: string): Promise<void> {
  const kubectl = async (...args: string[]) =>
    (await run(process.env.KUBECTL ?? 'kubectl', args, { timeout: 60_000 })).stdout.trim()
  const deadlineMs = performance.now() + 60_000
  const kinds = 'deployments,services.serving.knative.dev'
  while (
    (await kubectl('get', kinds, '-A', '-o=name', '-l', `longshore.dev/environment=${appEnvId}`)) !== ''
  ) {
    if (performance.now() > deadlineMs) throw new Error('the environment still has objects')
    await pause()
  }
  if (namespacePrefix === null) return
  const names = (await kubectl('get', 'namespaces', '-o=name')).split('\n')
  for (const name of names.filter((one) => one.startsWith(`namespace/${namespacePrefix}`)))
    await kubectl('delete', name, '--wait=false')
}

/** The platform removes containers asynchronously; wait for that before ending it. */
async function containersGone(appEnvId: string): Promise<void> {
  const { connectDocker } = await import('../deploy/local-base-image.ts')
  const docker = connectDocker()
  const deadlineMs = performance.now() + 20_000
  for (;;) {
    const all = await docker.listContainers({ all: true })
    const left = all.filter((container) => JSON.stringify(container.Labels).includes(appEnvId))
    if (left.length === 0) return
    if (performance.now() > deadlineMs) throw new Error(`${left.length} containers are still there`)
    await pause()
  }
}

/** Waits until these processes have ended; sends SIGTERM and later SIGKILL. */
async function ended(list: () => number[] | Promise<number[]>): Promise<void> {
  const startedMs = performance.now()
  for (;;) {
    const pids = await list()
    if (pids.length === 0) return
    const waitedMs = performance.now() - startedMs
    if (waitedMs > 15_000) throw new Error(`processes ${pids.join(', ')} do not end`)
    if (waitedMs > 500) for (const pid of pids) endQuietly(pid, waitedMs > 8_000 ? 'SIGKILL' : 'SIGTERM')
    await pause()
  }
}

/**
 * Gateway and supervisor outlive the server by design, but the demo must end them. Their command lines contain the
 * folder, which only this run uses.
 */
async function processesNaming(folder: string): Promise<number[]> {
  const lines = existsSync('/proc/self/cmdline') ? await commandLinesOfProc() : await commandLinesOfPs()
  return lines
    .filter(({ text }) => text.includes(folder))
    .map(({ pid }) => pid)
    .filter((pid) => pid !== process.pid)
}

interface CommandLine {
  pid: number
  text: string
}

async function commandLinesOfProc(): Promise<CommandLine[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0)
  return Promise.all(
    pids.map(async (pid) => ({ pid, text: await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') })),
  )
}

/** For systems without /proc. */
async function commandLinesOfPs(): Promise<CommandLine[]> {
  const { stdout } = await run('ps', ['-A', '-ww', '-o', 'pid=,args='], { maxBuffer: 32 * 1024 ** 2 })
  return stdout.split('\n').map((text) => ({ pid: Number.parseInt(text, 10), text }))
}

function endQuietly(pid: number, signal: 'SIGTERM' | 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has already ended.
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100))
}
