/**
 * Control planes on one PostgreSQL:
 *
 * - the CPU for a request with 1, 2 and 4 of them at a fixed load below saturation, without what they use
 *   when idle (goal: with 4 at most 1.15 times that with 1), and the requests a second that they reach
 * - reads of one environment and a list of 50 over REST with few and with many environments stored (goals:
 *   p50 at most 3 ms and 6 ms with 100,000; at most 1.5 times that with 1,000,000)
 *
 *   npm run build && npm run bench -- scale-out [seconds] [few] [many] [rate]
 *       8, 100,000, 1,000,000 and 120 a second by default
 */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { Agent, request } from 'undici'
import { updateAccount } from '../src/contract/accounts.ts'
import { createAppEnv } from '../src/contract/app-envs.ts'
import { createApp } from '../src/contract/apps.ts'
import { addMember, updateMemberEnvAccess } from '../src/contract/members.ts'
import { ControlPlanes } from '../testkit/platform/control-planes.ts'
import { PostgresServer } from '../testkit/store/postgres-server.ts'
import { untilRead } from '../testkit/until.ts'

const [seconds = 8, few = 100_000, many = 1_000_000, rate = 120] = process.argv.slice(2).map(Number)
const names = ['alder', 'birch', 'cedar', 'dogwood']
const counts = [1, 2, 4]
const connections = 16
/** For each control plane: after fewer, its code is still being compiled. */
const warmUpRequests = 2_000
/** Each measurement is the median of so many, taken in turn, because other work runs on a machine too. */
const rounds = 3
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

const nthOf = (index: number, stored: number) => `/app-env?appEnvId=env_load${((index * 7919) % stored) + 1}`

const totalCpu = (running: readonly string[]) => running.reduce((sum, name) => sum + cpuOf(name), 0)

/** Requests one after the other on each connection: as many as they reach. */
async function saturate(running: readonly string[], untilMs: number, most = Number.POSITIVE_INFINITY) {
  let requests = 0
  const worker = async (nth: number) => {
    for (let index = nth; performance.now() < untilMs && requests < most; index += connections) {
      requests += 1
      await get(running[index % running.length] as string, nthOf(index, few))
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, nth) => worker(nth)))
  return requests
}

/** Requests at `perSecond`, in turn to each of `running`; resolves to their CPU for one, in milliseconds. */
async function sendAtRate(running: readonly string[], perSecond: number): Promise<number> {
  const before = totalCpu(running)
  const startedMs = performance.now()
  const open = new Set<Promise<void>>()
  let sent = 0
  let failed = 0
  for (; sent < perSecond * seconds; sent += 1) {
    const waitMs = startedMs + (sent * 1000) / perSecond - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    const one = get(running[sent % running.length] as string, nthOf(sent, few))
      .catch(() => {
        failed += 1
      })
      .finally(() => open.delete(one))
    open.add(one)
  }
  await Promise.all(open)
  if (failed > 0) print(`  ${failed} of ${sent} requests failed: this machine is overloaded`)
  const took = (performance.now() - startedMs) / 1000
  if (took > seconds * 1.2) print(`  ${perSecond} requests/s were too many: they took ${took.toFixed(1)} s`)
  const idle = running.reduce((sum, name) => sum + (idleCpu.get(name) ?? 0), 0) * took
  return ((totalCpu(running) - before - idle) * 1000) / sent
}

/** CPU seconds per second of each control plane. */
const idleCpu = new Map<string, number>()

async function measureIdle(): Promise<void> {
  const before = names.map(cpuOf)
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000))
  for (const [nth, name] of names.entries()) idleCpu.set(name, (cpuOf(name) - (before[nth] ?? 0)) / seconds)
  const shown = names.map((name) => `${((idleCpu.get(name) ?? 0) * 100).toFixed(1)} %`).join(', ')
  print(`idle CPU of each control plane: ${shown} of a core`)
}

async function measureCpu(): Promise<void> {
  for (const name of names) await saturate([name], Number.POSITIVE_INFINITY, warmUpRequests)
  await measureIdle()
  // At one rate in all, and at one rate for each: a control plane with less to do has colder caches.
  const most = Math.max(...counts)
  const inAll = counts.map((count) => ({ count, perSecond: rate, found: [] as number[] }))
  const forEach = counts.map((count) => ({ count, perSecond: (rate / most) * count, found: [] as number[] }))
  for (let round = 0; round < rounds; round += 1)
    for (const one of [...inAll, ...forEach])
      one.found.push(await sendAtRate(names.slice(0, one.count), one.perSecond))
  for (const [what, all] of [
    [`${rate} requests/s in all`, inAll],
    [`${rate / most} requests/s for each`, forEach],
  ] as const) {
    const cpu = all.map(({ found }) => middle(found))
    print(
      `CPU for a request with ${counts.join(', ')} control planes, ${what}: ${cpu.map((ms) => ms.toFixed(3)).join(', ')} ms; ` +
        `with ${most} ${((cpu.at(-1) ?? 0) / (cpu[0] ?? 1)).toFixed(2)} times that with 1`,
    )
  }
  const reached: string[] = []
  for (const count of counts) {
    const requests = await saturate(names.slice(0, count), performance.now() + seconds * 1000)
    reached.push((requests / seconds).toFixed(0))
  }
  print(`At most ${reached.join(', ')} requests/s`)
}

function middle(values: number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

async function median(times: number, work: (nth: number) => Promise<void>): Promise<number> {
  const took: number[] = []
  for (let nth = 0; nth < times; nth += 1) {
    const startedMs = performance.now()
    await work(nth)
    took.push(performance.now() - startedMs)
  }
  return middle(took)
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
  await untilRead(
    () => planes.instances('alder'),
    ({ length }) => length === names.length,
    'every instance',
  )
  await fill(appEnvId, 0, few)
  const member = await makeMember()
  await measureCpu()
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
