import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { usageByHour } from '../../../src/domain/environments/usage.ts'
import { createLog } from '../../../src/log.ts'
import { foldUsage, type MeteredContainer, UsageMeter } from '../../../src/regions/usage-meter.ts'
import type { Db } from '../../../src/store/db.ts'
import { foldRuns, listOpenRuns, listRuns, listUsageHours } from '../../../src/store/repositories/usage.ts'
import { openSqliteDb } from '../../../src/store/sqlite/db.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'

const log = createLog('test', 'silent')

/** Just enough rows for a rate: an account's app and environment. */
async function addEnvironment(db: Db, appEnvId: string, isFunction: boolean): Promise<void> {
  await db.write(async (tx) => {
    const appId = `app_of_${appEnvId}`
    const app = { appId, accountId: 'acc_1', name: 'app', dockerPreset: 'CUSTOM', isFunction }
    const common = { account_id: 'acc_1', revision: 1, created_at: '2026-03-01T00:00:00.000Z' }
    await tx
      .insertInto('apps')
      .values({ ...common, app_id: appId, created_by: null, record: JSON.stringify(app) })
      .execute()
    const settings = { zClouds: 2, containers: 1, envVars: [] }
    const record = JSON.stringify({
      appEnvId,
      appId,
      accountId: 'acc_1',
      cliEnvName: appEnvId,
      region: 'local',
      status: 'RUNNING',
      desiredState: 'running',
      saved: settings,
      applied: settings,
      wantedRolloutId: null,
      currentRolloutId: null,
      nextVersion: 1,
      revision: 1,
    })
    await tx
      .insertInto('app_envs')
      .values({
        ...common,
        app_env_id: appEnvId,
        app_id: appId,
        cli_env_name: appEnvId,
        status: 'RUNNING',
        size: 2,
        record,
      })
      .execute()
  })
}

describe('the usage meter', () => {
  let dir = ''
  let db: Db
  let clock: TestClock
  let meter: UsageMeter
  const t0 = () => Date.parse('2026-03-01T12:00:00.000Z')

  beforeEach(async () => {
    dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-usage-'))
    db = await openSqliteDb(path.join(dir, 'db'))
    clock = new TestClock()
    await addEnvironment(db, 'env_fn', true)
    await addEnvironment(db, 'env_app', false)
    meter = await newMeter()
  })
  afterEach(async () => {
    await db.close()
    rmSync(dir, { recursive: true, force: true })
  })

  /** A control plane that starts: whatever the last one knew is only what it wrote. */
  async function newMeter(): Promise<UsageMeter> {
    const made = new UsageMeter(db, clock, log)
    await made.open()
    return made
  }

  const at = (seconds: number) => new Date(t0() + seconds * 1_000).toISOString()

  function container(
    name: string,
    from: number,
    to: number | null = null,
    appEnvId = 'env_fn',
  ): MeteredContainer {
    return {
      name,
      podId: `pod_${name}`,
      appEnvId,
      state: to === null ? 'running' : 'exited',
      startedAt: at(from),
      finishedAt: to === null ? null : at(to),
    }
  }

  const look = (...containers: MeteredContainer[]) => meter.observe(containers, clock.wallMs())

  async function billed(appEnvId = 'env_fn'): Promise<number> {
    const nowMs = clock.wallMs()
    const range = { fromMs: 0, toMs: nowMs, nowMs }
    return db.read(async (tx) => {
      const runs = usageByHour(await listRuns(tx, appEnvId, range), range)
      const hours = await listUsageHours(tx, appEnvId, range)
      return [...runs, ...hours].reduce((sum, hour) => sum + hour.billedZCloudSeconds, 0)
    })
  }

  it('F4 bills a function of 2 zClouds at three times from start to end', async () => {
    await look(container('a', 0))
    await clock.advance(40_000)
    expect(await billed()).toBe(240)
    await look(container('a', 0, 30))
    await clock.advance(100_000)
    expect(await billed()).toBe(180)
  })

  it('bills an app at the standard rate', async () => {
    await look(container('a', 0, 30, 'env_app'))
    await clock.advance(60_000)
    expect(await billed('env_app')).toBe(60)
  })

  it('takes the end from the engine, also when the control plane was away', async () => {
    await look(container('a', 0))
    await clock.advance(3_600_000)
    meter = await newMeter()
    await look(container('a', 0, 1_234))
    expect(await billed()).toBe(1_234 * 6)
  })

  it('bills a container that ran from start to end while the control plane was down', async () => {
    await clock.advance(500_000)
    await look(container('a', 100, 400))
    expect(await billed()).toBe(300 * 6)
  })

  it('ends a container that vanished when it was last seen', async () => {
    await look(container('a', 0))
    await clock.advance(20_000)
    await look(container('a', 0))
    await clock.advance(2_000)
    await look()
    await clock.advance(600_000)
    expect(await billed()).toBe(20 * 6)
  })

  it('treats no container as lost while an engine is unavailable', async () => {
    await look(container('a', 0))
    await clock.advance(20_000)
    await meter.observe([], clock.wallMs(), false)
    await clock.advance(20_000)
    await look(container('a', 0))
    expect(await billed()).toBe(40 * 6)
  })

  it('ends a container that vanished with the machine at the last written moment', async () => {
    for (let second = 0; second < 60; second += 2) {
      await look(container('a', 0))
      await clock.advance(2_000)
    }
    await clock.advance(86_400_000)
    meter = await newMeter()
    await look()
    const seconds = (await billed()) / 6
    expect(seconds).toBeGreaterThanOrEqual(48)
    expect(seconds).toBeLessThanOrEqual(60)
    expect(await db.read((tx) => listOpenRuns(tx))).toEqual([])
  })

  it('never bills twice: repeated, late and early lists, ends and crashes', async () => {
    await look(container('a', 0))
    await clock.advance(50_000)
    await meter.ended(container('a', 0))
    // A list that was requested before the removal arrives late.
    await look(container('a', 0))
    await clock.advance(50_000)
    expect(await billed()).toBe(300)
    meter = await newMeter()
    await look(container('a', 0, 50))
    await look(container('a', 0, 50))
    await meter.ended(container('a', 0, 60))
    await look()
    await clock.advance(50_000)
    expect(await billed()).toBe(300)
  })

  it('ends a container whose end its engine does not know when it was last seen to run', async () => {
    await look(container('a', 0))
    await clock.advance(20_000)
    await look(container('a', 0))
    await clock.advance(600_000)
    const unknown = (name: string) => ({ ...container(name, 0, 1), finishedAt: null })
    await meter.ended(unknown('a'))
    await meter.ended(unknown('never seen'))
    await look(unknown('a'), unknown('never seen'), unknown('nor this one'))
    expect(await billed()).toBe(20 * 6)
  })

  it('bills a container that began and ended between two looks', async () => {
    await clock.advance(60_000)
    await meter.ended(container('a', 10, 15))
    expect(await billed()).toBe(30)
  })

  it('catches up with the next list when the store was away', async () => {
    const { write } = db
    db.write = () => Promise.reject(new Error('disk full'))
    await look(container('a', 0))
    db.write = write
    await clock.advance(10_000)
    await look(container('a', 0))
    expect(await billed()).toBe(60)
  })

  it('keeps the same sum when old runs become hours, once each', async () => {
    for (let run = 0; run < 30; run += 1) {
      const name = `old-${run}`
      await meter.ended(container(name, run * 1_000, run * 1_000 + 700))
    }
    await clock.advance(36 * 86_400_000)
    const before = await billed()
    expect(before).toBe(30 * 700 * 6)
    await foldUsage(db, clock)
    await foldUsage(db, clock)
    expect(await db.read((tx) => listRuns(tx, 'env_fn', { fromMs: 0, nowMs: 0 }))).toEqual([])
    expect(await billed()).toBe(before)
    // One that is still listed is not taken for a new one after a restart.
    meter = await newMeter()
    await look(container('old-1', 1_000, 1_700))
    expect(await billed()).toBe(before)
    expect(await db.write((tx) => foldRuns(tx, clock.wallMs()))).toBe(0)
  })

  it('agrees with a plain sum over random lives, looks and crashes', async () => {
    let seed = 7
    const random = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return seed % below
    }
    const lives = Array.from({ length: 60 }, (_, index) => {
      const from = random(3_000)
      return { name: `c-${index}`, from, to: from + 1 + random(900), removedAt: 0 }
    })
    for (const life of lives) life.removedAt = life.to + random(120)
    const removed = new Set<string>()
    for (let second = 0; second < 4_200; second += 7) {
      const now = (clock.wallMs() - t0()) / 1_000
      if (random(40) === 0) meter = await newMeter()
      const there = lives.filter(({ name, from }) => from <= now && !removed.has(name))
      for (const { name, from, to, removedAt } of there) {
        if (removedAt > now) continue
        await meter.ended(container(name, from, to))
        removed.add(name)
      }
      const listed = there.filter(({ name }) => !removed.has(name))
      await look(...listed.map(({ name, from, to }) => container(name, from, to <= now ? to : null)))
      await clock.advance(7_000)
    }
    expect(await billed()).toBe(lives.reduce((sum, { from, to }) => sum + (to - from) * 6, 0))
  })
})
