import { type Clock, readBootTime, systemClock } from '../../src/clock.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { AppError } from '../../src/errors.ts'
import { LogStore } from '../../src/files/log-store.ts'
import { createLog, Secret } from '../../src/log.ts'
import { JobScheduler } from '../../src/regions/jobs/scheduler.ts'
import { LogFollowers } from '../../src/regions/logs/followers.ts'
import { LogMasks } from '../../src/regions/logs/masks.ts'
import { UsageMeter } from '../../src/regions/usage-meter.ts'
import { openSecretBox, parseMasterKey } from '../../src/store/secrets/secret-box.ts'
import { openSqliteDb } from '../../src/store/sqlite/db.ts'
import { type StressEngine, stressEngine } from './stress-engine.ts'

/** Options of a scheduler of the stress test, as JSON in its first argument. */
export interface StressSchedulerOptions {
  engine: StressEngine
  database: string
  logs: string
  /** How far the wall clock is off when it starts. */
  wallStepMs: number
  clockScale: number
  /** Share of the engine's answers that are lost, after the work was done. */
  lostShare: number
}

/** Messages to it while it runs: steps of the wall clock. Messages from it: the number of lost answers. */
export type StressOrder = { wallStepMs: number }
export interface StressReport {
  lostReplies: number
  lateReplies: number
}

const lateShare = 0.1
const longestDelayMs = 400

/**
 * A scheduler as a process of its own, to be killed at any moment: the real store, the real process engine, a wall
 * clock that steps and an engine whose answers get lost or come late. Ends with its parent process.
 */
async function runScheduler(options: StressSchedulerOptions): Promise<void> {
  let wallStepMs = options.wallStepMs
  const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + wallStepMs }
  const log = createLog('stress', 'silent')
  const db = await openSqliteDb(options.database)
  const engine = stressEngine(options.engine)
  await engine.open()
  const report: StressReport = { lostReplies: 0, lateReplies: 0 }
  const unreliable = unreliableEngine(engine, options.lostShare, report)
  const masterKey = parseMasterKey(new Secret('11'.repeat(32)))
  const secrets = await openSecretBox(db, masterKey, new Date().toISOString())
  const scheduler = new JobScheduler({
    db,
    clock,
    log,
    secrets,
    nodeName: 'stress',
    clockScale: options.clockScale,
    bootTime: readBootTime,
    engineOf: () => unreliable,
    list: async () => ({ containers: await unreliable.list(), isListed: () => true }),
    followers: new LogFollowers(new LogStore(options.logs), new LogMasks(db, secrets), log),
    usage: new UsageMeter(db, clock, log),
  })
  engine.watch(() => scheduler.wake())
  setInterval(() => scheduler.wake(), 250)
  setInterval(() => process.send?.(report), 100)
  process.on('message', (order: StressOrder) => {
    wallStepMs += order.wallStepMs
  })
  process.on('disconnect', () => process.exit(0))
  scheduler.wake()
  process.send?.(report)
}

/** Some answers are lost after the work was done, others come late. */
function unreliableEngine(engine: Engine, lostShare: number, report: StressReport): Engine {
  const unreliable = async <T>(work: () => Promise<T>): Promise<T> => {
    const value = await work()
    if (Math.random() < lateShare) {
      report.lateReplies += 1
      await new Promise((resolve) => setTimeout(resolve, Math.random() * longestDelayMs))
    }
    if (Math.random() >= lostShare) return value
    report.lostReplies += 1
    throw new AppError('unavailable', 'the answer was lost')
  }
  return {
    ...({} as Engine),
    apply: (spec) => unreliable(() => engine.apply(spec)),
    stop: (name, grace) => unreliable(() => engine.stop(name, grace)),
    remove: (name) => unreliable(() => engine.remove(name)),
    list: () => unreliable(() => engine.list()),
    logs: (name, how) => engine.logs(name, how),
  }
}

const given = process.argv[2]
if (given !== undefined && process.send) await runScheduler(JSON.parse(given))
