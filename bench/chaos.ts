/**
 * Three control planes of one PostgreSQL behind a TCP balancer, under a fault every few seconds: a control
 * plane is killed (kill -9) or paused (SIGSTOP, the first time for 60 s), PostgreSQL is restarted, or
 * connections are cut. Goals:
 *
 * - no acknowledged write is lost and no effect doubled; each attempt of a job has one container
 * - every alert is delivered, the audit log verifies, and all is well within 10 s of the last fault
 *
 *   npm run build && npm run bench -- chaos [writes] [deployments] [runs] [alerts]
 *       1000 4 20 8 by default; the size of an acceptance is 20000 100 500 200
 */
import { execFileSync } from 'node:child_process'
import { createContactPoint } from '../src/contract/contact-points.ts'
import { Receiver } from '../testkit/alerting/receiver.ts'
import { Balancer } from '../testkit/platform/balancer.ts'
import { ControlPlanes } from '../testkit/platform/control-planes.ts'
import { PostgresServer } from '../testkit/store/postgres-server.ts'
import { untilRead } from '../testkit/until.ts'
import { betweenFaultsMs, Faults } from './chaos/faults.ts'
import { Load } from './chaos/load.ts'
import { print, problems } from './chaos/report.ts'

const [writes = 1_000, deployments = 4, runs = 20, alerts = 8] = process.argv.slice(2).map(Number)
const names = ['alder', 'birch', 'cedar']
const counters = 12
const webs = 4
const runsAtOnce = 8
const convergeMs = 10_000

const startedMs = performance.now()
const server = await PostgresServer.start()
const receiver = await Receiver.start()
const planes = await ControlPlanes.start(
  server,
  { alder: 'north=process', birch: 'south=process', cedar: 'none' },
  { LONGSHORE_CLOCK_SCALE: '60', LONGSHORE_ALLOW_PRIVATE_WEBHOOKS: 'true', LONGSHORE_LOG_LEVEL: 'error' },
)
const first = planes.at('alder')
const { accountId } = first.ready
const balancer = await Balancer.start(names.map((name) => Number(new URL(planes.at(name).ready.api).port)))
const load = new Load({ url: balancer.url, token: first.token, accountId })
const faults = new Faults({ names, planes, server, balancer, progress: () => load.progress() })

async function isWell(): Promise<boolean> {
  const ready = await Promise.all(names.map((name) => fetch(new URL('/readyz', planes.at(name).ready.api))))
  const instances = await planes.instances('cedar')
  const leases = instances.flatMap((one) => one.leases)
  return (
    ready.every(({ ok }) => ok) && instances.length === names.length && leases.length === names.length + 4
  )
}

async function judgeAlerts(): Promise<number> {
  const firing = () => receiver.accepted.filter(({ body }) => body.event === 'firing')
  const delivered = () => new Set(firing().map(({ body }) => body.alertId)).size
  await untilRead(
    async () => delivered(),
    (found) => found >= alerts,
    'every alert',
  )
  if (delivered() > alerts) problems.push(`${delivered()} alerts, not ${alerts}`)
  const events = firing().map(({ body }) => body.eventId)
  return events.length - new Set(events).size
}

function judgeAudit(): string {
  const env = { ...process.env, ...planes.settings, LONGSHORE_HOME: first.home, LONGSHORE_NODE: 'alder' }
  const output = execFileSync(process.execPath, ['dist/longshore.js', 'audit', 'verify'], {
    env,
    encoding: 'utf8',
  })
  return output.trim().split('\n').at(-1) ?? ''
}

try {
  const appEnvIds: string[] = []
  for (let nth = 0; nth < webs; nth += 1) {
    const app = { dockerPreset: 'CUSTOM', port: 8080 }
    appEnvIds.push(await load.make(`web ${nth}`, nth % 2 ? 'south' : 'north', app))
  }
  const job = await load.makeJob('south')
  await Promise.all([...appEnvIds.map((one) => load.deploy(one, 1)), load.untilDeployed(job)])
  const { contactPoint } = await load.client.call(createContactPoint, {
    accountId,
    name: 'Ops',
    type: 'webhook',
    config: { url: receiver.url('/hook') },
  } as never)
  await load.makeCounters(counters)
  print(`ready after ${Math.round(performance.now() - startedMs)} ms`)

  const faulting = faults.run()
  await Promise.all([
    load.write(writes),
    ...appEnvIds.map((one) => load.deploy(one, Math.ceil(deployments / webs))),
    load.runJobs(job, runs, runsAtOnce),
    load.makeAlerts(appEnvIds, contactPoint.contactPointId, alerts),
  ])
  faults.end()
  await faulting
  const endedMs = performance.now()
  await untilRead(isWell, (well) => well, 'all well')
  const convergedMs = performance.now() - endedMs + betweenFaultsMs
  if (convergedMs > convergeMs)
    problems.push(`all were well only ${Math.round(convergedMs)} ms after the last fault`)

  await load.judgeCounters()
  await load.judgeRuns(job, runs)
  const twice = await judgeAlerts()
  print(judgeAudit())
  print(
    `${faults.made.length} faults (${faults.summary()}) over ${writes} writes, ${deployments} deployments, ${runs} job runs, ` +
      `${alerts} alerts: ${problems.length} problems; ${twice} notifications twice; all well ${Math.round(convergedMs)} ms after ` +
      `the last fault; ${Math.round((performance.now() - startedMs) / 1000)} s in all`,
  )
  for (const problem of problems.slice(0, 10)) print(`  ${problem}`)
} finally {
  faults.end()
  balancer.close()
  load.close()
  await planes.dispose()
  await receiver.close()
  await server.stop()
}
process.exit(problems.length === 0 ? 0 : 1)
