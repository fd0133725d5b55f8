/**
 * Three control planes of one PostgreSQL behind a plain TCP balancer, while every few seconds one is killed (kill -9) or
 * paused (SIGSTOP), PostgreSQL is restarted, or connections are cut. No acknowledged write may be lost and no effect
 * doubled, every alert must be delivered, the audit log must verify, and all must be well within 10 s of the last fault.
 * Run: npm run bench -- chaos [writes] [deployments] [runs] [alerts]      after `npm run build`; 1,000, 4, 20 and 8 by
 * default
 */
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { createClient } from '../src/client/client.ts'
import { updateAppEnvVariables } from '../src/contract/app-env-actions.ts'
import { getAppEnvStatus } from '../src/contract/app-env-reads.ts'
import { createAppEnv, getAppEnv } from '../src/contract/app-envs.ts'
import { createApp } from '../src/contract/apps.ts'
import { createContactPoint } from '../src/contract/contact-points.ts'
import { notifyCodeUpload, requestDeployStorageKey } from '../src/contract/deployments.ts'
import { listJobRuns } from '../src/contract/jobs.ts'
import { Receiver } from '../testkit/alerting/receiver.ts'
import { Balancer } from '../testkit/platform/balancer.ts'
import { ControlPlanes } from '../testkit/platform/control-planes.ts'
import { deploy, sampleSource, tgz, until, untilDeployed } from '../testkit/platform/story.ts'
import { PostgresServer } from '../testkit/store/postgres-server.ts'

const [writes = 1_000, deployments = 4, runs = 20, alerts = 8] = process.argv.slice(2).map(Number)
const names = ['alder', 'birch', 'cedar']
const base = 'node:20-alpine'
const convergeMs = 10_000
const pauseMs = 9_000
const betweenFaultsMs = 3_000

const server = await PostgresServer.start()
const receiver = await Receiver.start()
const planes = await ControlPlanes.start(
  server,
  { alder: 'north=process', birch: 'south=process', cedar: 'none' },
  { LONGSHORE_CLOCK_SCALE: '60', LONGSHORE_ALLOW_PRIVATE_WEBHOOKS: 'true', LONGSHORE_LOG_LEVEL: 'error' },
)
const first = planes.at('alder')
const { accountId } = first.ready
const { token } = first
const balancer = await Balancer.start(names.map((name) => Number(new URL(planes.at(name).ready.api).port)))
const client = () => createClient({ url: `${balancer.url}/api/public/v1`, token, surface: 'cli' })
const problems: string[] = []
const faults: string[] = []
let isOver = false

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Repeats a call until it is acknowledged; with a key, it then has one effect. */
async function insist<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      if (/^(?:invalid|not-found|forbidden)$/.test(String((error as { kind?: string }).kind))) throw error
      await pause(50)
    }
  }
}

async function make(name: string, region: string, app: Record<string, unknown>): Promise<string> {
  const { appId } = await client().call(createApp, { accountId, name, ...app })
  return (await client().call(createAppEnv, { accountId, appId, name: 'prod', region })).appEnvId
}

interface Counter {
  appEnvId: string
  sent: number
  acknowledged: number
}

/** Every other counter is written over MCP, without a session. */
async function count(counter: Counter, index: number, share: number): Promise<void> {
  while (counter.acknowledged < share) {
    counter.sent += 1
    const input = {
      appEnvId: counter.appEnvId,
      set: [{ name: 'COUNT', value: String(counter.sent), isSecret: false }],
    }
    const done = index % 2 ? overMcp(input) : client().call(updateAppEnvVariables, input)
    await done.then(
      () => {
        counter.acknowledged = counter.sent
      },
      () => pause(20),
    )
  }
}

async function overMcp(input: object): Promise<void> {
  const params = { name: 'update-app-env-variables', arguments: input }
  const answer = await fetch(`${balancer.url}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    signal: AbortSignal.timeout(20_000),
  })
  const text = await answer.text()
  if (!answer.ok || /"isError":true|"error":\{/.test(text)) throw new Error(text.slice(0, 200))
}

/** A POST that is repeated with one key until it is acknowledged. */
async function once(path: string, body: object): Promise<void> {
  const key = randomUUID()
  const headers = { authorization: token, 'content-type': 'application/json', 'idempotency-key': key }
  await insist(async () => {
    const request = {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(20_000),
    }
    const answer = await fetch(`${balancer.url}/api/public/v1${path}`, request)
    const text = await answer.text()
    if (answer.status >= 400 && answer.status < 500 && answer.status !== 429)
      problems.push(`${path}: ${text}`)
    else if (!answer.ok) throw new Error(text)
  })
}

/** Deploys until a version was taken in, then waits for its end. */
async function deployAgain(appEnvId: string): Promise<void> {
  const archive = new Uint8Array(await tgz(sampleSource(base)))
  await insist(async () => {
    const { uploadUrl, storageKey } = await client().call(requestDeployStorageKey, { appEnvId })
    const { pathname } = new URL(uploadUrl)
    const answer = await fetch(`${balancer.url}${pathname}`, { method: 'PUT', body: archive })
    if (!answer.ok) throw new Error(await answer.text())
    await client()
      .call(notifyCodeUpload, { appEnvId, storageKey })
      .catch((error) => {
        // Taken in, although the response was lost.
        if (!/used|uploaded/.test(String(error.details))) throw error
      })
  })
  const status = () => client().call(getAppEnvStatus, { appEnvId })
  const end = await until(
    status,
    ({ currentDeployment: one }) => one?.status === 'DEPLOYED' || one?.status === 'FAILED',
    'an end',
  )
  if (end.currentDeployment?.status !== 'DEPLOYED')
    problems.push(`a deployment failed: ${JSON.stringify(end.currentDeployment)}`)
}

const ways: Record<string, () => Promise<void>> = {
  async 'kill -9'() {
    const name = names[Math.floor(Math.random() * names.length)] as string
    await planes.at(name).end('SIGKILL')
    await pause(500)
    await planes.at(name).start()
  },
  async 'SIGSTOP/SIGCONT'() {
    const name = names[Math.floor(Math.random() * names.length)] as string
    planes.at(name).signal('SIGSTOP')
    await pause(pauseMs)
    planes.at(name).signal('SIGCONT')
  },
  async 'PostgreSQL restart'() {
    await server.halt('SIGINT')
    await server.launch()
  },
  async 'cut connections'() {
    balancer.cut()
    const ours =
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'longshore %'"
    await server.query('postgres', ours)
  },
}

async function makeFaults(): Promise<void> {
  for (let turn = 0; !isOver; turn += 1) {
    const [name, way] = Object.entries(ways)[turn % 4] as [string, () => Promise<void>]
    await way()
    faults.push(name)
    console.log(`${faults.length} faults; the last one: ${name}`)
    await pause(betweenFaultsMs)
  }
}

const isWell = async () => {
  const ready = await Promise.all(names.map((name) => fetch(new URL('/readyz', planes.at(name).ready.api))))
  const instances = await planes.instances('cedar')
  const leases = instances.flatMap((one) => one.leases)
  return (
    ready.every(({ ok }) => ok) && instances.length === names.length && leases.length === names.length + 4
  )
}

try {
  const web = await make('web', 'north', { dockerPreset: 'CUSTOM', port: 8080 })
  const job = await make('job', 'south', {
    dockerPreset: 'JOB',
    jobConfig: { command: 'node job.js', maxConcurrency: 100 },
  })
  await deploy(first, web, sampleSource(base))
  await deploy(first, job, { Dockerfile: `FROM ${base}\nCOPY job.js .\n`, 'job.js': 'console.log("ran")\n' })
  await Promise.all([untilDeployed(first, web), untilDeployed(first, job)])
  const { contactPoint } = await client().call(createContactPoint, {
    accountId,
    name: 'Ops',
    type: 'webhook',
    config: { url: receiver.url('/hook') },
  } as never)
  const counters: Counter[] = []
  for (let index = 0; index < 6; index += 1) {
    const appEnvId = await make(`counter ${index}`, index % 2 ? 'south' : 'north', {
      dockerPreset: 'CUSTOM',
      port: 80,
    })
    counters.push({ appEnvId, sent: 0, acknowledged: 0 })
  }
  const rule = { metric: 'memory_usage', operator: 'gt', threshold: 1, duration: '1m', queryRange: '5m' }
  const all = (async () => {
    const counting = counters.map((counter, index) =>
      count(counter, index, Math.ceil(writes / counters.length)),
    )
    const deploying = (async () => {
      for (let done = 0; done < deployments; done += 1) await deployAgain(web)
    })()
    const running = (async () => {
      for (let done = 0; done < runs; done += 1) await once('/app-env/job-run', { appEnvId: job })
    })()
    const alerting = (async () => {
      for (let done = 0; done < alerts; done += 1)
        await once('/app-env/alert', {
          appEnvId: web,
          name: `alert ${done}`,
          ...rule,
          contactPointIds: [contactPoint.contactPointId],
        })
    })()
    await Promise.all([...counting, deploying, running, alerting])
  })()
  const faulting = makeFaults()
  await all
  isOver = true
  await faulting
  const endedMs = performance.now()
  await until(isWell, (well) => well, 'all well')
  const convergedMs = performance.now() - endedMs + betweenFaultsMs
  if (convergedMs > convergeMs)
    problems.push(`all were well only ${Math.round(convergedMs)} ms after the last fault`)
  for (const { appEnvId, sent, acknowledged } of counters) {
    const { envVars } = await client().call(getAppEnv, { appEnvId })
    const value = Number(envVars.find(({ name }) => name === 'COUNT')?.value ?? 0)
    if (value < acknowledged || value > sent)
      problems.push(`a counter is ${value}, not ${acknowledged} to ${sent}`)
  }
  const readRuns = () => client().call(listJobRuns, { appEnvId: job, limit: 100 } as never)
  const listed = await until(
    readRuns,
    ({ jobRuns }) => jobRuns.every(({ finishedAt }) => finishedAt !== null),
    'ended runs',
  )
  if (listed.jobRuns.length !== Math.min(100, runs))
    problems.push(`${listed.jobRuns.length} runs, not ${runs}`)
  for (const run of listed.jobRuns)
    if (run.status !== 'SUCCEEDED') problems.push(`the run ${run.jobRunId}: ${run.status}`)
  const firing = () => receiver.accepted.filter(({ body }) => body.event === 'firing')
  const delivered = () => new Set(firing().map(({ body }) => body.alertId)).size
  await until(
    async () => delivered(),
    (found) => found >= alerts,
    'every alert',
  )
  if (delivered() > alerts) problems.push(`${delivered()} alerts, not ${alerts}`)
  const events = firing().map(({ body }) => body.eventId)
  const env = { ...process.env, ...planes.settings, LONGSHORE_HOME: first.home, LONGSHORE_NODE: 'alder' }
  const audit = execFileSync(process.execPath, ['dist/longshore.js', 'audit', 'verify'], {
    env,
    encoding: 'utf8',
  })
  console.log(audit.trim().split('\n').at(-1))
  console.log(
    `${faults.length} faults (${[...new Set(faults)].join(', ')}) over ${writes} writes, ${deployments} deployments, ${runs} job runs, ${alerts} alerts: ` +
      `${problems.length} problems; ${events.length - new Set(events).size} notifications twice; all well ${Math.round(convergedMs)} ms after the last fault`,
  )
  for (const problem of problems.slice(0, 10)) console.log(`  ${problem}`)
} finally {
  isOver = true
  balancer.close()
  await planes.dispose()
  await receiver.close()
  await server.stop()
}
process.exit(problems.length === 0 ? 0 : 1)
