/**
 * Alerting, both parts or one of them:
 *
 *   cycle      10,000 rules of 1,000 environments in one evaluation, wall and CPU time: on an in-memory
 *              source with one metric an environment, then on the metric store with ten metrics an
 *              environment, so that every rule reads ten minutes of samples of its own
 *   kills [N]  500 alerts fire and resolve while the evaluator is killed 50 times (kill -9) and the receiver
 *              answers 30 % 5xx, 10 % nothing, 5 % resets: transitions lost, notifications delivered twice. N
 *              times as slow, for a machine that is busy with other things
 *
 *   npm run bench -- alerting [cycle|kills [N]]
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { createAlerting } from '../src/alerting/alerting.ts'
import { createNotifier } from '../src/alerting/notifiers/deliver.ts'
import { insertAlertState } from '../src/alerting/states.ts'
import { systemClock } from '../src/clock.ts'
import { type Metric, sampledMetrics } from '../src/contract/metrics.ts'
import type { StoredAlert } from '../src/domain/alerts/alert.ts'
import { createLog, Secret } from '../src/log.ts'
import { bucketOf } from '../src/metrics/histogram.ts'
import type { MetricValues } from '../src/metrics/source.ts'
import { MetricStore } from '../src/metrics/store.ts'
import { insertAlert } from '../src/store/repositories/alerts.ts'
import { insertContactPoint } from '../src/store/repositories/contact-points.ts'
import { openSecretBox, parseMasterKey } from '../src/store/secrets/secret-box.ts'
import { openSqliteDb } from '../src/store/sqlite/db.ts'
import { Receiver } from '../testkit/alerting/receiver.ts'

const at = '2026-01-01T00:00:00.000Z'
const [mode, argument = '', began = '0', workerPace = '1'] = process.argv.slice(2)
if (mode === 'worker') await work(argument, Number(began), Number(workerPace))
else {
  if (mode !== 'kills') {
    await cycle()
    await cycleOnStore()
  }
  if (mode !== 'cycle') await kills(Number(argument || 1))
}

async function openAlerting(dir: string, metrics: MetricValues, clockScale: number) {
  const db = await openSqliteDb(path.join(dir, 'bench.db'))
  const secrets = await openSecretBox(db, parseMasterKey(new Secret('11'.repeat(32))), at)
  const log = createLog('bench', 'silent')
  const options = { clock: systemClock, log, allowPrivate: true, incidentUrl: 'http://127.0.0.1:9/' }
  const notifier = createNotifier({ ...options, smtpUrl: undefined, deadlineMs: 500 })
  const deps = { db, clock: systemClock, log, secrets, metrics, notifier, clockScale }
  return { db, secrets, alerting: createAlerting({ ...deps, publicUrl: () => 'http://127.0.0.1' }) }
}

async function fill(
  { db, secrets }: Awaited<ReturnType<typeof openAlerting>>,
  size: { environments: number; rulesEach: number; metricsOfRules?: readonly Metric[] },
  url: string,
): Promise<void> {
  const sealed = secrets.seal(url, 'cp_1/url')
  const base = { accountId: 'acc_1', createdAt: at, updatedAt: at, revision: 1 }
  await db.write(async (tx) => {
    await insertContactPoint(tx, {
      ...base,
      contactPointId: 'cp_1',
      name: 'x',
      type: 'webhook',
      config: { url: sealed },
    })
    for (let env = 0; env < size.environments; env += 1) {
      const appEnvId = `env_${env}`
      const row = { app_id: 'app_1', account_id: 'acc_1', cli_env_name: appEnvId, status: 'RUNNING', size: 1 }
      await tx
        .insertInto('app_envs')
        .values({ app_env_id: appEnvId, ...row, record: '{}', revision: 1, created_at: at })
        .execute()
      for (let rule = 0; rule < size.rulesEach; rule += 1) {
        const alert: StoredAlert = {
          ...base,
          alertId: `alr_${env}_${rule}`,
          appEnvId,
          name: 'Bench',
          description: '',
          metric: size.metricsOfRules?.[rule] ?? 'cpu_percent',
          operator: 'gt',
          threshold: 80 + rule / 100,
          duration: '1m',
          aggregation: 'last',
          queryRange: size.metricsOfRules ? '10m' : '5m',
          contactPointIds: ['cp_1'],
          enabled: true,
          region: 'local',
        }
        await insertAlert(tx, alert)
        await insertAlertState(tx, alert)
      }
    }
  })
}

async function cycle(): Promise<void> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-bench-'))
  let value = 10
  const series: MetricValues['series'] = async ({ toMs }) => [
    { t: toMs, value, min: value, max: value, last: value },
  ]
  const opened = await openAlerting(dir, { periodMs: 10_000, series }, 1)
  await fill(opened, { environments: 1_000, rulesEach: 10 }, 'http://127.0.0.1:9/')
  const measure = (what: string) => measureCycle(opened, what)
  await measure('10,000 rules, all for the first time')
  await measure('10,000 rules, nothing changes')
  value = 95
  await measure('10,000 rules, all become Pending')
  await measure('10,000 rules, all Pending')
  await opened.db.close()
  rmSync(dir, { recursive: true, force: true })
}

async function measureCycle(
  { alerting }: Awaited<ReturnType<typeof openAlerting>>,
  what: string,
): Promise<void> {
  const [wall, cpu] = [performance.now(), process.cpuUsage()]
  await alerting.evaluator.cycle()
  const used = process.cpuUsage(cpu)
  const cpuMs = (used.user + used.system) / 1000
  const share = `${(cpuMs / 100).toFixed(1)} % of a core at one cycle in 10 s`
  process.stdout.write(
    `cycle, ${what}: ${(performance.now() - wall).toFixed(0)} ms, CPU ${cpuMs.toFixed(0)} ms (${share})\n`,
  )
}

/** Ten minutes of samples of two containers and their traffic in each environment, and a rule on each of ten metrics. */
async function cycleOnStore(): Promise<void> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-bench-'))
  const store = new MetricStore({
    dir: path.join(dir, 'metrics'),
    periodMs: 10_000,
    log: createLog('bench', 'silent'),
  })
  await store.open(() => true)
  const container = { cpuMillicores: 30, cpuLimitMillicores: 500, memoryMb: 60, memoryLimitMb: 512 }
  const latency = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [bucketOf(10 + 7 * at), 5]))
  const ingress = { seconds: 10, requests: 100, answered4xx: 3, answered5xx: 1, latency }
  const samples = Array.from({ length: 1_000 }, (_, env) => ({
    appEnvId: `env_${env}`,
    containers: [container, container],
    ingress,
  }))
  const nowMs = Date.now()
  for (let turn = 60; turn > 0; turn -= 1) await store.append(nowMs - turn * 10_000, samples)
  const opened = await openAlerting(dir, store, 1)
  const metricsOfRules = sampledMetrics.filter(
    (metric) => !/^(cpu|memory)_usage_per_pod$|_rate$/.test(metric),
  )
  await fill(opened, { environments: 1_000, rulesEach: 10, metricsOfRules }, 'http://127.0.0.1:9/')
  await measureCycle(opened, '10,000 rules on the metric store, all for the first time')
  await measureCycle(opened, '10,000 rules on the metric store, each with its own read')
  await opened.db.close()
  rmSync(dir, { recursive: true, force: true })
}

/** The evaluator that is killed: alert n is above its threshold for 15 s, from n x 40 ms on, times pace. */
async function work(dir: string, beganMs: number, pace: number): Promise<void> {
  const series: MetricValues['series'] = async ({ appEnvId, toMs }) => {
    const since = (Date.now() - beganMs) / pace - Number(appEnvId.slice(4)) * 40
    const value = since > 0 && since < 15_000 ? 95 : 10
    return [{ t: toMs, value, min: value, max: value, last: value }]
  }
  const { alerting } = await openAlerting(dir, { periodMs: 100, series }, 600)
  alerting.start()
  process.stdout.write('up\n')
}

async function kills(pace: number): Promise<void> {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-bench-'))
  const receiver = await Receiver.start()
  const opened = await openAlerting(dir, { periodMs: 100, series: async () => [] }, 600)
  await fill(opened, { environments: 500, rulesEach: 1 }, receiver.url('/hook'))
  receiver.answer = () => {
    const chance = Math.random()
    if (chance < 0.3) return { status: 503 }
    return chance < 0.4 ? 'hang' : chance < 0.45 ? 'reset' : { status: 200 }
  }
  const beganMs = Date.now() + 1_000
  const start = () =>
    new Promise<ReturnType<typeof spawn>>((resolve) => {
      const child = spawn(process.execPath, [
        process.argv[1] as string,
        ...['worker', dir, String(beganMs), String(pace)],
      ])
      child.stdout.once('data', () => resolve(child))
    })
  for (let kill = 0; kill < 50; kill += 1) {
    const child = await start()
    await new Promise((resolve) => setTimeout(resolve, pace * (300 + Math.random() * 600)))
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await gone
  }
  const last = await start()
  const counts = async () => {
    const rows = await opened.db.read((tx) =>
      tx.selectFrom('notifications').select(['event_id', 'event', 'status']).execute(),
    )
    return { rows, due: rows.filter(({ status }) => status === 'due').length }
  }
  const deadline = Date.now() + 120_000
  let now = await counts()
  while ((now.rows.length < 1_000 || now.due > 0) && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    now = await counts()
  }
  last.kill('SIGKILL')
  const ids = new Set(receiver.accepted.map(({ body }) => body.eventId))
  const fired = new Set(
    receiver.accepted.filter(({ body }) => body.event === 'firing').map(({ body }) => body.alertId),
  )
  const lost = now.rows.filter(({ event_id }) => !ids.has(event_id)).length
  const twice = receiver.accepted.length - ids.size
  process.stdout.write(
    `kills: ${now.rows.length} notifications, ${receiver.sent.length} requests, ${fired.size} of 500 alerts heard firing, ${lost} lost, ${twice} delivered twice (${((twice / now.rows.length) * 100).toFixed(2)} %), same event id each\n`,
  )
  await opened.db.close()
  await receiver.close()
  rmSync(dir, { recursive: true, force: true })
  process.exit(lost > 0 ? 1 : 0)
}
