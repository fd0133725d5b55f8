/**
 * Deployments, without a lost request in the first two parts:
 *
 * - of programs that fail in every way, over a version that serves under load: how many the platform calls
 *   good (goal: 0), with the seconds to each verdict
 * - of good programs in a row on a busy machine, with the default stability window at ten times the speed:
 *   how many it calls failed (goal: 0)
 * - the time from the upload of a first version to its first answer, with the window and without it, in turn
 *   (goal: no difference)
 *
 *   npm run build && npm run bench -- deployments [deployments] [first versions of each kind]
 *       100 and 10 by default; with 0 deployments it measures only the first answers
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { createAppEnv, deleteAppEnv, getAppEnv } from '../src/contract/app-envs.ts'
import { createApp } from '../src/contract/apps.ts'
import { availableEngines } from '../testkit/engines/available-engines.ts'
import { median } from '../testkit/figures.ts'
import { loadOn, versionSource } from '../testkit/gateway/rolling-load.ts'
import { deploy, noWindow, untilDeployed } from '../testkit/platform/deploy.ts'
import { Installation } from '../testkit/platform/installation.ts'
import { hostile } from './deployments/hostile.ts'

const deployments = Number(process.argv[2] ?? 100)
const firstVersions = Number(process.argv[3] ?? 10)

for (const { engine, base } of await availableEngines()) {
  if (deployments > 0 && !(await hostile({ engine, base }))) process.exitCode = 1
  const installation = new Installation({ LONGSHORE_ENGINE: engine, LONGSHORE_CLOCK_SCALE: '10' })
  await installation.start()
  try {
    if (deployments > 0) await goodInARow(installation, engine, base)
    await firstAnswers(installation, engine, base)
  } finally {
    await installation.dispose()
  }
}

async function makeEnvironment(installation: Installation, name: string, settings: object) {
  const client = installation.client()
  const { accountId } = installation.ready
  const { appId } = await client.call(createApp, { name, accountId, port: 8080, ...settings })
  const { appEnvId } = await client.call(createAppEnv, { accountId, appId, name: 'prod', region: 'local' })
  const { hosts } = await client.call(getAppEnv, { appEnvId })
  return { appEnvId, host: hosts[0]?.host ?? '' }
}

async function goodInARow(installation: Installation, engine: string, base: string): Promise<void> {
  const healthCheck = { path: '/', intervalSeconds: 3 }
  const { appEnvId, host } = await makeEnvironment(installation, 'good', { healthCheck })
  const failures: string[] = []
  const release = async (version: number) => {
    await deploy(installation, appEnvId, versionSource(base, version))
    const { currentDeployment } = await untilDeployed(installation, appEnvId)
    if (currentDeployment?.status !== 'DEPLOYED') failures.push(JSON.stringify(currentDeployment?.failure))
  }
  await release(0)
  const hogs = Array.from({ length: availableParallelism() }, busyCore)
  const { outcome, end } = loadOn(installation, host, 2)
  try {
    for (let version = 1; version <= deployments; version++) await release(version)
  } finally {
    await end()
    for (const hog of hogs) hog.kill('SIGKILL')
  }
  const { requests, lost } = outcome
  process.stdout.write(
    `${engine}: ${deployments} good deployments on a busy machine, ${failures.length} called failed; ${requests} requests, ${lost.length} lost\n`,
  )
  for (const why of new Set([...failures, ...lost])) process.stdout.write(`  ${why}\n`)
  if (failures.length + lost.length > 0) process.exitCode = 1
}

function busyCore(): ChildProcess {
  return spawn(process.execPath, ['-e', 'for (;;) {}'], { stdio: 'ignore' })
}

async function firstAnswers(installation: Installation, engine: string, base: string): Promise<void> {
  const took: Record<'with' | 'without', number[]> = { with: [], without: [] }
  for (let round = 0; round < firstVersions; round++) {
    // Each goes first in turn.
    const ways = round % 2 === 0 ? (['with', 'without'] as const) : (['without', 'with'] as const)
    for (const way of ways) {
      const settings = way === 'with' ? {} : noWindow
      took[way].push(await firstAnswerMs(installation, base, `${way} ${round}`, settings))
    }
  }
  process.stdout.write(
    `${engine}: upload to first answer ${Math.round(median(took.with))} ms with the window, ${Math.round(median(took.without))} ms without (medians of ${firstVersions})\n`,
  )
}

async function firstAnswerMs(installation: Installation, base: string, name: string, settings: object) {
  const { appEnvId, host } = await makeEnvironment(installation, name, settings)
  const startMs = performance.now()
  await deploy(installation, appEnvId, versionSource(base, 1))
  while ((await installation.request(host)).status !== 200) await new Promise((done) => setTimeout(done, 5))
  const tookMs = performance.now() - startMs
  await untilDeployed(installation, appEnvId)
  await installation.client().call(deleteAppEnv, { appEnvId })
  return tookMs
}
