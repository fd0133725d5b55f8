/**
 * Control planes on one PostgreSQL: requests a second and CPU of the control planes for a request with 1, 2 and 4 of them
 * (goal: CPU with 4 at most 1.15 times that with 1), then reads of one environment and a list of 50 over REST with few and
 * with many environments stored (goals: p50 at most 3 ms and 6 ms with 100,000; at most 1.5 times that with 1,000,000).
 * Run: npm run bench -- scale-out [seconds] [few] [many]      after `npm run build`; 8, 100,000 and 1,000,000 by default
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Agent, request } from 'undici'
import { updateAccount } from '../src/contract/accounts.ts'
import { createAppEnv } from '../src/contract/app-envs.ts'
import { createApp } from '../src/contract/apps.ts'
import { addMember, updateMemberEnvAccess } from '../src/contract/members.ts'
import { ControlPlanes } from '../testkit/platform/control-planes.ts'
import { until } from '../testkit/platform/story.ts'
import { PostgresServer } from '../testkit/store/postgres-server.ts'

const [seconds = 8, few = 100_000, many = 1_000_000] = process.argv.slice(2).map(Number)
const names = ['alder', 'birch', 'cedar', 'dogwood']
const connections = 16
const ticksPerSecond = 100

const server = await PostgresServer.start()
const planes = await ControlPlanes.start(
  server,
  Object.fromEntries(names.map((name, nth) => [name, nth === 0 ? 'north=process' : 'none'])),
  { LONGSHORE_LOG_LEVEL: 'error' },
)
const agent = new Agent({ connections: 64, pipelining: 1 })
const { token } = planes.at('alder')
const { accountId } = planes.at('alder').ready

const urlOf = (name: string, search: string) =>
  `${new URL(planes.at(name).ready.api).origin}/api/public/v1${search}`

async function get(name: string, search: string, authorization = token): Promise<void> {
  const answer = await request(urlOf(name, search), { dispatcher: agent, headers: { authorization } })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`${search} answered ${answer.statusCode}: ${text}`)
}

/** CPU time of a control plane so far, in seconds; the lock of its data directory names its process. */
function cpuOf(name: string): number {
  const pid = readFileSync(path.join(planes.at(name).home, 'run', 'lock'), 'utf8').split(' ')[0]
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** Copies of an environment, in a region of no machine so that nothing runs them. */
async function fill(appEnvId: string, from: number, to: number): Promise<void> {
  await server.query(
    planes.database,
    `insert into app_envs (app_env_id, app_id, account_id, cli_env_name, status, size, region, record, revision, created_at)
     select 'env_load' || n, app_id, account_id, 'load-' || n, status, size, 'elsewhere',
       replace(replace(replace(record, app_env_id, 'env_load' || n), cli_env_name, 'load-' || n), '"north"', '"elsewhere"'),
       revision, created_at
     from app_envs, generate_series(${from + 1}, ${to}) n where app_env_id = '${appEnvId}'`,
  )
  await server.query(planes.database, 'analyze')
}

async function load(running: readonly string[], stored: number) {
  const before = running.map(cpuOf)
  const startedMs = performance.now()
  const endMs = startedMs + seconds * 1000
  let requests = 0
  const worker = async (nth: number) => {
    for (let index = nth; performance.now() < endMs; index += connections) {
      const name = running[index % running.length] as string
      await get(name, `/app-env?appEnvId=env_load${((index * 7919) % stored) + 1}`)
      requests += 1
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, nth) => worker(nth)))
  const took = (performance.now() - startedMs) / 1000
  const cpu = running.reduce((sum, name, nth) => sum + cpuOf(name) - (before[nth] ?? 0), 0)
  return { perSecond: requests / took, cpuMs: (cpu * 1000) / requests }
}

async function median(times: number, work: (nth: number) => Promise<void>): Promise<number> {
  const took: number[] = []
  for (let nth = 0; nth < times; nth += 1) {
    const startedMs = performance.now()
    await work(nth)
    took.push(performance.now() - startedMs)
  }
  return took.sort((a, b) => a - b)[Math.floor(times / 2)] ?? 0
}

async function reads(member: string, stored: number) {
  const one = (nth: number) => get('birch', `/app-env?appEnvId=env_load${((nth * 7919) % stored) + 1}`)
  const list = () => get('birch', `/app-envs?accountId=${accountId}`, member)
  await median(50, one)
  await median(20, list)
  const figures = { one: await median(500, one), list: await median(150, list) }
  print(
    `${stored} environments: one ${figures.one.toFixed(2)} ms, a list of 50 ${figures.list.toFixed(2)} ms (p50)`,
  )
  return figures
}

async function makeMember(): Promise<string> {
  const client = planes.at('alder').client()
  await client.call(updateAccount, { accountId, memberEnvAccessEnabled: true })
  const added = await client.call(addMember, { accountId, email: 'load@example.com', name: 'Load' })
  const allowedAppEnvIds = Array.from(
    { length: 50 },
    (_, nth) => `env_load${1 + Math.floor((nth * few) / 50)}`,
  )
  await client.call(updateMemberEnvAccess, { accountId, membershipId: added.membershipId, allowedAppEnvIds })
  return added.token ?? ''
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

try {
  const client = planes.at('alder').client()
  const { appId } = await client.call(createApp, {
    accountId,
    name: 'load',
    dockerPreset: 'CUSTOM',
    port: 8080,
  })
  const { appEnvId } = await client.call(createAppEnv, { accountId, appId, name: 'prod', region: 'north' })
  await until(
    () => planes.instances('alder'),
    ({ length }) => length === names.length,
    'every instance',
  )
  await fill(appEnvId, 0, few)
  const member = await makeMember()
  const cpu: number[] = []
  // Each is warm before it is measured.
  await load(names, few)
  for (const count of [1, 2, 4]) {
    const { perSecond, cpuMs } = await load(names.slice(0, count), few)
    cpu.push(cpuMs)
    print(
      `${count} control planes: ${perSecond.toFixed(0)} requests/s, ${cpuMs.toFixed(3)} ms of CPU for one`,
    )
  }
  print(`CPU for a request with 4 over that with 1: ${((cpu[2] ?? 0) / (cpu[0] ?? 1)).toFixed(2)}`)
  const first = await reads(member, few)
  if (many > few) {
    await fill(appEnvId, few, many)
    const then = await reads(member, many)
    print(
      `${many} over ${few}: one ${(then.one / first.one).toFixed(2)}, list ${(then.list / first.list).toFixed(2)}`,
    )
  }
} finally {
  await agent.close()
  await planes.dispose()
  await server.stop()
}
