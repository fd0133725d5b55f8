import { mkdtempSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { newId } from '../../src/domain/ids.ts'
import { isOver, type JobRun, runOver } from '../../src/domain/jobs/run.ts'
import type { Engine } from '../../src/engines/engine.ts'
import { AppError } from '../../src/errors.ts'
import { LogStore } from '../../src/files/log-store.ts'
import { createLog } from '../../src/log.ts'
import { JobScheduler } from '../../src/regions/jobs/scheduler.ts'
import { LogFollowers } from '../../src/regions/logs/followers.ts'
import { LogMasks } from '../../src/regions/logs/masks.ts'
import type { Db } from '../../src/store/db.ts'
import {
  countActiveJobRuns,
  findJobRun,
  insertJobRun,
  listActiveJobRuns,
  listJobRuns,
  listLiveJobAttempts,
  nextJobRunNumber,
  saveJobRun,
} from '../../src/store/repositories/job-runs.ts'
import { TestClock } from '../fakes/clock.ts'
import { FakeEngine } from '../fakes/engine.ts'
import { TestPlatform } from '../platform/test-platform.ts'
import { randomOf } from '../random.ts'
import { removeFolder } from '../remove-folder.ts'

interface ChaosResult {
  runs: number
  attempts: number
  crashes: number
  clockSteps: number
  lostReplies: number
  canceled: number
  /** Attempts with more than one container. */
  doubled: string[]
  /** Runs with more attempts than `backoffLimit` + 1. */
  tooMany: string[]
  /** Environments seen with more containers running than their limit. */
  overLimit: string[]
  /** Runs that are not over, and attempts without an end, when all had time. */
  forgotten: string[]
  byStatus: Record<string, number>
}

interface World {
  platform: TestPlatform
  clock: TestClock
  engine: FakeEngine
  /** Random numbers of the scenario: the same for a seed, however many answers the schedulers wait for. */
  random: () => number
  /** Which answers are lost. */
  randomAnswer: () => number
  result: ChaosResult
  logs: LogStore
}

const limit = 3
const lostShare = 0.2
const commands = ['echo done', 'sleep 2', 'sleep 5 && exit 0', 'exit 1', 'sleep 3 && exit 7', 'sleep 400']

/**
 * Carries `runs` job runs out under two schedulers on one store and engine, while answers are lost, schedulers
 * crash, the wall clock steps by an hour and runs are canceled; then returns the violated guarantees.
 */
export async function runJobChaos(options: {
  runs: number
  crashes: number
  seed: number
}): Promise<ChaosResult> {
  const clock = new TestClock()
  const engine = new FakeEngine({ clock })
  const platform = await TestPlatform.start({ clock, engine, reconciles: false })
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-chaos-'))
  const logs = new LogStore(dir)
  const world: World = {
    platform,
    clock,
    engine,
    logs,
    random: randomOf(options.seed),
    randomAnswer: randomOf(options.seed + 1),
    result: emptyResult(),
  }
  try {
    watchContainers(world)
    engine.host.images.set('job:1', '["node"]')
    const environments: string[] = []
    for (let count = 0; count < Math.max(4, options.runs / 50); count += 1)
      environments.push((await platform.makeEnvironment({ app: { dockerPreset: 'JOB' } })).appEnvId)
    await play(world, environments, options)
    await judge(world, environments)
    return world.result
  } finally {
    await platform.close()
    await logs.close()
    removeFolder(dir)
  }
}

async function play(
  world: World,
  environments: string[],
  options: { runs: number; crashes: number },
): Promise<void> {
  const { clock, random, result, platform } = world
  const schedulers = [startScheduler(world), startScheduler(world)]
  const crashEvery = Math.max(1, Math.floor(options.runs / options.crashes))
  for (let idle = 0, turn = 1; idle < 40; turn += 1) {
    for (let count = 0; count < 4 && result.runs < options.runs; count += 1) {
      const appEnvId = environments[Math.floor(random() * environments.length)] as string
      if (await submit(world, appEnvId)) result.runs += 1
      if (result.runs >= (result.crashes + 1) * crashEvery && result.crashes < options.crashes) {
        const index = Math.floor(random() * 2)
        schedulers[index]?.crash()
        schedulers[index] = startScheduler(world)
        result.crashes += 1
      }
    }
    if (turn % 20 === 0) {
      clock.stepWall(random() < 0.5 ? 3_600_000 : -3_600_000)
      result.clockSteps += 1
    }
    if (random() < 0.1) await cancelOne(world)
    for (const { scheduler } of schedulers) scheduler.wake()
    await clock.advance(200 + Math.floor(random() * 1_500))
    await new Promise((resolve) => setTimeout(resolve, 1))
    const left = await platform.db.read(
      async (tx) => (await listActiveJobRuns(tx)).length + (await listLiveJobAttempts(tx)).length,
    )
    idle = result.runs >= options.runs && left === 0 ? idle + 1 : 0
    if (clock.monotonicMs() > 50_000_000) break
  }
  for (const { scheduler } of schedulers) await scheduler.stop()
}

/** Starts a scheduler that can die at any moment: from then on none of its calls reaches store or engine. */
function startScheduler(world: World) {
  const { platform, clock, engine, logs } = world
  let dead = false
  const alive = () => {
    if (dead) throw new AppError('unavailable', 'this scheduler has crashed')
  }
  const db: Db = {
    ...platform.db,
    read: async (work) => {
      alive()
      return platform.db.read(work)
    },
    write: async (work) => {
      alive()
      return platform.db.write(work)
    },
  }
  const flaky = flakyEngine(world, alive)
  const log = createLog('chaos', 'silent')
  const scheduler = new JobScheduler({
    db,
    clock,
    log,
    secrets: platform.secrets,
    nodeName: 'chaos',
    clockScale: 1,
    bootTime: () => ({ clock: 'chaos', ms: clock.monotonicMs() }),
    engineOf: () => flaky,
    list: async () => ({ containers: await flaky.list(), isListed: () => true }),
    followers: new LogFollowers(logs, new LogMasks(db, platform.secrets), log),
    usage: { ended: async () => {} },
  })
  const unwatch = engine.watch(() => dead || scheduler.wake())
  scheduler.wake()
  return {
    scheduler,
    crash() {
      dead = true
      unwatch()
      void scheduler.stop().catch(() => {})
    },
  }
}

/** One answer in five is lost after the work was done. */
function flakyEngine({ engine, randomAnswer, result }: World, alive: () => void): Engine {
  const flaky = async <T>(work: () => Promise<T>): Promise<T> => {
    alive()
    const value = await work()
    alive()
    if (randomAnswer() < lostShare) {
      result.lostReplies += 1
      throw new AppError('unavailable', 'the answer was lost')
    }
    return value
  }
  return {
    ...({} as Engine),
    apply: (spec) => flaky(() => engine.apply(spec)),
    stop: (name, grace) => flaky(() => engine.stop(name, grace)),
    remove: (name) => flaky(() => engine.remove(name)),
    list: () => flaky(() => engine.list()),
    logs: (name, how) => engine.logs(name, how),
  }
}

/** Counts containers as they are made, and those that run at the same time. */
function watchContainers({ engine, result }: World): void {
  const { containers } = engine.host
  const made = new Map<string, number>()
  const set = containers.set.bind(containers)
  containers.set = (name, container) => {
    made.set(name, (made.get(name) ?? 0) + 1)
    result.attempts += 1
    if ((made.get(name) ?? 0) > 1) result.doubled.push(name)
    set(name, container)
    const { appEnvId } = container.spec
    const live = [...containers.values()].filter((one) => one.spec.appEnvId === appEnvId && !one.exited)
    if (live.length > limit) result.overLimit.push(appEnvId)
    return containers
  }
}

function submit({ platform, random }: World, appEnvId: string): Promise<boolean> {
  return platform.db.write(async (tx) => {
    if ((await countActiveJobRuns(tx, appEnvId)) >= limit) return false
    const command = commands[Math.floor(random() * commands.length)] as string
    const run: JobRun = {
      jobRunId: newId('run'),
      appEnvId,
      accountId: platform.accountId,
      region: platform.region,
      envName: 'chaos',
      number: await nextJobRunNumber(tx, appEnvId),
      status: 'PENDING',
      attempt: 0,
      snapshot: {
        image: 'job:1',
        contentId: 'dep_1',
        command,
        args: [],
        shell: true,
        workingDir: null,
        // Soon enough that few of them are canceled before.
        timeoutSeconds: command === 'sleep 400' ? 10 : 120,
        backoffLimit: Math.floor(random() * 3),
      },
      trigger: { userId: null, tokenKind: 'user' },
      createdAt: platform.now,
      startedAt: null,
      finishedAt: null,
      exitCode: null,
      reason: null,
      limit,
      ttlSecondsAfterFinished: 300,
      settings: { envVars: [], zClouds: 1, useVolume: false, mountPath: null },
      began: null,
      retry: null,
    }
    await insertJobRun(tx, run)
    return true
  })
}

function cancelOne({ platform, random, result }: World): Promise<void> {
  return platform.db.write(async (tx) => {
    const active = await listActiveJobRuns(tx)
    const one = active[Math.floor(random() * active.length)]
    const run = one && (await findJobRun(tx, one.jobRunId))
    if (!run || isOver(run)) return
    result.canceled += 1
    await saveJobRun(
      tx,
      runOver(run, { status: 'CANCELED', exitCode: null, reason: 'Canceled' }, platform.now),
    )
  })
}

async function judge({ platform, result }: World, environments: string[]): Promise<void> {
  for (const appEnvId of environments) {
    const { runs } = await platform.db.read((tx) => listJobRuns(tx, appEnvId, { limit: 100_000, offset: 0 }))
    for (const run of runs) {
      result.byStatus[run.status] = (result.byStatus[run.status] ?? 0) + 1
      if (!isOver(run)) result.forgotten.push(run.jobRunId)
      if (run.attempt > run.snapshot.backoffLimit + 1) result.tooMany.push(run.jobRunId)
      const mayTimeOut = run.snapshot.command === 'sleep 400' || run.attempt > 1
      if (run.status === 'TIMED_OUT' && !mayTimeOut) result.forgotten.push(`${run.jobRunId} timed out early`)
    }
  }
  const live = await platform.db.read((tx) => listLiveJobAttempts(tx))
  result.forgotten.push(...live.map((attempt) => attempt.attemptId))
}

function emptyResult(): ChaosResult {
  const counts = { runs: 0, attempts: 0, crashes: 0, clockSteps: 0, lostReplies: 0, canceled: 0 }
  return { ...counts, doubled: [], tooMany: [], overLimit: [], forgotten: [], byStatus: {} }
}
