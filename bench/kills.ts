/**
 * `kill -9` of the real control plane while writers write over REST and MCP: no acknowledged write may be
 * lost, the audit log must verify, a function must answer throughout, and each start must be ready within 5 s
 * without orphaned containers.
 *
 *   npm run build && npm run bench -- kills [kills] [writes]
 *       200 kills and 10,000 writes by default
 */

import { execFileSync } from 'node:child_process'
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { updateAppEnvVariables } from '../src/contract/app-env-actions.ts'
import { getAppEnvPods } from '../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../src/contract/app-envs.ts'
import { createApp } from '../src/contract/apps.ts'
import { median } from '../testkit/figures.ts'
import { deploy, makeFunction, sampleSource, untilDeployed } from '../testkit/platform/deploy.ts'
import { Installation } from '../testkit/platform/installation.ts'
import { untilRead } from '../testkit/until.ts'

const kills = Number(process.argv[2] ?? 200)
const writes = Number(process.argv[3] ?? 10_000)
const writersOfEach = 4

/** One environment that one writer counts up in. */
interface Counter {
  appEnvId: string
  over: 'rest' | 'mcp'
  /** The last value that was sent, and the last that was acknowledged. */
  sent: number
  acknowledged: number
}

const installation = new Installation({ LONGSHORE_ENGINE: 'process' })
let alive = false
let acknowledged = 0
let over = false

async function makeCounters(): Promise<Counter[]> {
  const client = installation.client()
  const { accountId } = installation.ready
  const { appId } = await client.call(createApp, { name: 'counters', accountId, port: 8080 })
  const counters: Counter[] = []
  for (let index = 0; index < 2 * writersOfEach; index += 1) {
    const input = { accountId, appId, name: `counter ${index}`, region: 'local' }
    const { appEnvId } = await client.call(createAppEnv, input)
    counters.push({ appEnvId, over: index % 2 ? 'mcp' : 'rest', sent: 0, acknowledged: 0 })
  }
  return counters
}

async function write(counter: Counter): Promise<void> {
  let session: McpClient | null = null
  while (!over) {
    if (!alive) {
      session = null
      await new Promise((resolve) => setTimeout(resolve, 5))
      continue
    }
    counter.sent += 1
    const set = [{ name: 'COUNT', value: String(counter.sent), isSecret: false }]
    const input = { appEnvId: counter.appEnvId, set }
    try {
      if (counter.over === 'rest') await installation.client().call(updateAppEnvVariables, input)
      else {
        session ??= await mcpSession()
        const answer = await session.callTool({ name: 'update-app-env-variables', arguments: input })
        if (answer.isError) continue
      }
      counter.acknowledged = counter.sent
      acknowledged += 1
    } catch {
      // An unacknowledged write may be there or not.
      session = null
    }
  }
}

async function mcpSession(): Promise<McpClient> {
  const client = new McpClient({ name: 'kills', version: '1' })
  const url = new URL(installation.ready.mcp)
  const headers = { authorization: `Bearer ${installation.token}` }
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as never)
  return client
}

/** Values that are older than the last acknowledged one, or that were never sent. */
async function lost(counters: readonly Counter[]): Promise<string[]> {
  const client = installation.client()
  const wrong: string[] = []
  for (const { appEnvId, sent, acknowledged: least } of counters) {
    const { envVars } = await client.call(getAppEnv, { appEnvId })
    const value = Number(envVars.find(({ name }) => name === 'COUNT')?.value ?? 0)
    if (value < least || value > sent) wrong.push(`${appEnvId}: ${value}, not ${least} to ${sent}`)
  }
  return wrong
}

const problems: string[] = []
const readyMs: number[] = []
try {
  await installation.start()
  const fn = await makeFunction(installation, 'served', { minScale: 1 })
  await deploy(installation, fn.appEnvId, sampleSource('node:20-alpine'))
  await untilDeployed(installation, fn.appEnvId)
  const counters = await makeCounters()
  alive = true
  const writing = counters.map(write)
  for (let kill = 1; kill <= kills; kill += 1) {
    const share = Math.ceil((writes * kill) / kills)
    const delay = Math.random() * 60
    await untilRead(
      async () => acknowledged,
      (count) => count >= share,
      `${share} writes`,
    )
    await new Promise((resolve) => setTimeout(resolve, delay))
    await installation.end('SIGKILL')
    alive = false
    const startedMs = performance.now()
    await installation.start()
    readyMs.push(performance.now() - startedMs)
    problems.push(...(await lost(counters)))
    const { status } = await installation.request(fn.host)
    if (status !== 200) problems.push(`the function answered ${status} after kill ${kill}`)
    alive = true
    if (kill % 20 === 0)
      console.log(`${kill} kills, ${acknowledged} acknowledged writes, ${problems.length} problems`)
  }
  over = true
  await Promise.all(writing)
  problems.push(...(await lost(counters)))
  const { pods } = await installation.client().call(getAppEnvPods, { appEnvId: fn.appEnvId })
  const running = pods.filter((pod) => pod.status === 'Running').length
  if (running !== 1) problems.push(`${running} containers run, not 1`)
  const trail = execFileSync(process.execPath, ['dist/longshore.js', 'audit', 'verify'], {
    env: { ...process.env, LONGSHORE_HOME: installation.home },
    encoding: 'utf8',
  })
  console.log(trail.trim().split('\n').at(-1))
  console.log(
    `${kills} times kill -9 over ${acknowledged} acknowledged writes (half over REST, half over MCP): ` +
      `${problems.length} lost or wrong; ready again in ${Math.round(median(readyMs))} ms median, ` +
      `${Math.round(Math.max(...readyMs))} ms at most`,
  )
  for (const problem of problems.slice(0, 10)) console.log(`  ${problem}`)
} finally {
  over = true
  await installation.dispose()
}
process.exit(problems.length === 0 ? 0 : 1)
