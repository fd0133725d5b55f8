import { isDeepStrictEqual } from 'node:util'
import type { Notifier } from '../../src/alerting/notifiers/notifier.ts'
import type { Operation, OutputOf } from '../../src/contract/operation.ts'
import { newId } from '../../src/domain/ids.ts'
import { AppError } from '../../src/errors.ts'
import { TestClock } from '../fakes/clock.ts'
import { type Fault, FaultyDb } from '../fakes/faulty-db.ts'
import { FakeMetrics } from '../fakes/metrics.ts'
import { TestPlatform } from './test-platform.ts'

/** How soon after a failed write all must be as if it had not failed, on the clock of the platform. */
const convergesWithinMs = 10_000
const stepMs = 250
/** Sockets, files and transactions take real time, during which the clock does not advance. */
const pauseMs = 8
const patienceMs = 60_000
const unlimited = { perSecond: 1e6, burst: 1e6 }
const mostWrites = 200

/**
 * Plays `scenario` once for each write it makes, with that write failing, until one run goes without a
 * failure. Returns what the failed writes would have changed.
 */
export async function failEachWrite(
  db: FaultyDb,
  fault: Fault,
  scenario: () => Promise<void>,
): Promise<Set<string>> {
  const failed = new Set<string>()
  for (let nth = 1; nth <= mostWrites; nth += 1) {
    db.arm(nth, fault)
    try {
      await scenario()
    } catch (error) {
      throw new Error(`with write ${nth} ${fault} (${db.failed})`, { cause: error })
    }
    db.disarm()
    if (db.failed === null) return failed
    failed.add(db.failed)
  }
  throw new Error(`the scenario made more than ${mostWrites} writes`)
}

/** A platform on a clock moved by hand whose store fails once, at a write of choice. */
export class FaultFixture {
  readonly clock = new TestClock()
  readonly metrics = new FakeMetrics()
  readonly heard: string[] = []
  db!: FaultyDb
  platform!: TestPlatform

  static async start(): Promise<FaultFixture> {
    const fixture = new FaultFixture()
    const notifier: Notifier = async (_receiver, { notification }) => {
      fixture.heard.push(`${notification.event} ${notification.alertId}`)
      return { ok: true }
    }
    fixture.platform = await TestPlatform.start({
      clock: fixture.clock,
      metrics: fixture.metrics,
      notifier,
      rateLimits: { reads: unlimited, writes: unlimited, failures: unlimited },
      wrapDb: (db) => {
        fixture.db = new FaultyDb(db)
        return fixture.db
      },
    })
    fixture.platform.alerting.notifications.start()
    return fixture
  }

  failEachWrite(fault: Fault, scenario: () => Promise<void>): Promise<Set<string>> {
    return failEachWrite(this.db, fault, scenario)
  }

  /** One call, repeated under the same key, as a client does after an answer that the store is unavailable. */
  async call<Row extends Operation>(row: Row, input: Record<string, unknown>): Promise<OutputOf<Row>> {
    const idempotencyKey = newId('evt')
    try {
      return await this.platform.admin.client.call(row, input, { idempotencyKey })
    } catch (error) {
      if (!(error instanceof AppError) || error.kind !== 'unavailable') throw error
      return this.platform.admin.client.call(row, input, { idempotencyKey })
    }
  }

  makeEnvironment(options: Parameters<TestPlatform['makeEnvironment']>[0] = {}) {
    return this.platform.makeEnvironment({ ...options, by: { call: (row, input) => this.call(row, input) } })
  }

  /** Waits until `read` answers `expected`: ten seconds of the clock, and real time for work that does not use it. */
  async converges(what: string, read: () => Promise<unknown>, expected: unknown): Promise<void> {
    const startMs = this.clock.monotonicMs()
    const deadlineMs = performance.now() + patienceMs
    for (;;) {
      const last = await read()
      if (isDeepStrictEqual(last, expected)) return
      const isOver = this.clock.monotonicMs() - startMs >= convergesWithinMs
      if (isOver && performance.now() > deadlineMs) {
        throw new Error(
          `${what}: after ${convergesWithinMs} ms\n${JSON.stringify(last)}\nis not\n${JSON.stringify(expected)}`,
        )
      }
      if (!isOver) await this.clock.advance(stepMs)
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      while (this.db.busy > 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  close(): Promise<void> {
    return this.platform.close()
  }
}
