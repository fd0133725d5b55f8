import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAlerting } from '../../../src/alerting/alerting.ts'
import type { Notifier } from '../../../src/alerting/notifiers/notifier.ts'
import { listStateChanges } from '../../../src/alerting/state-history.ts'
import { insertAlertState } from '../../../src/alerting/states.ts'
import type { StoredAlert } from '../../../src/domain/alerts/alert.ts'
import { createLog, Secret } from '../../../src/log.ts'
import type { Db, Tx } from '../../../src/store/db.ts'
import { insertAlert, removeAlert } from '../../../src/store/repositories/alerts.ts'
import { insertContactPoint } from '../../../src/store/repositories/contact-points.ts'
import { openSecretBox, parseMasterKey, type SecretBox } from '../../../src/store/secrets/secret-box.ts'
import { openSqliteDb } from '../../../src/store/sqlite/db.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { FakeMetrics } from '../../../testkit/fakes/metrics.ts'

const at = '2026-01-01T00:00:00.000Z'

/** One run of the evaluator: after `left` steps it is dead, and nothing it does from then on has an effect. */
class Life {
  isDead = false
  /** What it died before. */
  diedBefore: string | null = null
  #left: number

  constructor(left: number) {
    this.#left = left
  }

  step(what: string): void {
    if (!this.isDead && this.#left-- > 0) return
    this.diedBefore ??= what
    this.isDead = true
    throw new Error('dead')
  }

  /** Each statement that changes something, and each commit, is a step. */
  db(db: Db): Db {
    return {
      ...db,
      read: async (work) => {
        if (this.isDead) throw new Error('dead')
        return db.read(work)
      },
      write: async (work) => {
        this.step('begin')
        const result = await db.write(async (tx) => {
          const value = await work(this.#tx(tx))
          this.step('commit')
          return value
        })
        this.step('answer of the commit')
        return result
      },
    }
  }

  notifier(heard: Heard[]): Notifier {
    return async (_receiver, { notification, dedupKey }) => {
      this.step('send')
      heard.push({ event: notification.event, eventId: notification.eventId, dedupKey })
      this.step('answer of the receiver')
      return { ok: true }
    }
  }

  #tx(tx: Tx): Tx {
    return new Proxy(tx, {
      get: (target, name) => {
        const value = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        return (...args: unknown[]) => {
          if (/^(insertInto|updateTable|deleteFrom)$/.test(String(name)))
            this.step(`${String(name)} ${args[0]}`)
          return value.apply(target, args)
        }
      },
    })
  }
}

interface Heard {
  event: string
  eventId: string
  dedupKey: string
}

describe('a crash of the evaluator between any two of its steps', () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-crash-'))
  const log = createLog('test', 'silent')
  let db: Db
  let secrets: SecretBox
  beforeAll(async () => {
    db = await openSqliteDb(path.join(dir, 'x.db'))
    secrets = await openSecretBox(db, parseMasterKey(new Secret('11'.repeat(32))), at)
  })
  afterAll(async () => {
    await db.close()
    rmSync(dir, { recursive: true, force: true })
  })

  async function makeAlert(run: number): Promise<StoredAlert> {
    const base = { accountId: 'acc_1', createdAt: at, updatedAt: at, revision: 1 }
    const contactPointId = `cp_${run}`
    const url = secrets.seal('http://127.0.0.1/', `${contactPointId}/url`)
    const alert: StoredAlert = {
      ...base,
      ...{ alertId: `alr_${run}`, appEnvId: `env_${run}`, name: 'Busy', description: '', region: 'local' },
      ...{ metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '1m', aggregation: 'last' },
      ...{ queryRange: '5m', contactPointIds: [contactPointId], enabled: true },
    }
    const row = { app_id: 'a', account_id: 'acc_1', cli_env_name: alert.appEnvId, status: 'RUNNING', size: 1 }
    await db.write(async (tx) => {
      await insertContactPoint(tx, { ...base, contactPointId, name: 'x', type: 'webhook', config: { url } })
      await tx
        .insertInto('app_envs')
        .values({ app_env_id: alert.appEnvId, ...row, record: '{}', revision: 1, created_at: at })
        .execute()
      await insertAlert(tx, alert)
      await insertAlertState(tx, alert)
    })
    return alert
  }

  /** Ten cycles above the threshold, five below; dies after so many steps, and goes on as another process would. */
  async function scenario(alert: StoredAlert, steps: number) {
    const clock = new TestClock()
    const metrics = new FakeMetrics()
    const heard: Heard[] = []
    const begin = (life: Life) => {
      const deps = { clock, log, secrets, metrics, notifier: life.notifier(heard), clockScale: 1 }
      const alerting = createAlerting({ ...deps, db: life.db(db), publicUrl: () => 'http://127.0.0.1' })
      alerting.notifications.start()
      return { life, alerting }
    }
    const first = new Life(steps)
    let now = begin(first)
    for (let turn = 0; turn < 15; turn += 1) {
      await clock.advance(10_000)
      metrics.add(alert.appEnvId, 'cpu_percent', clock.wallMs(), turn < 10 ? 95 : 10)
      await now.alerting.evaluator.cycle()
      for (let wait = 0; wait < 10; wait += 1) await new Promise((resolve) => setImmediate(resolve))
      if (!now.life.isDead) continue
      void now.alerting.stop()
      now = begin(new Life(Number.POSITIVE_INFINITY))
    }
    void now.alerting.stop()
    return { heard, diedBefore: first.diedBefore }
  }

  it('loses no firing and no resolved notification, and repeats only what was sent but not recorded, with the same event id', async () => {
    const diedBefore = new Set<string>()
    const doubledBy = new Set<string>()
    for (let run = 0; ; run += 1) {
      const alert = await makeAlert(run)
      const outcome = await scenario(alert, run)
      const { heard } = outcome
      const about = `death ${run}, before ${outcome.diedBefore}`
      expect([...new Set(heard.map(({ event }) => event))], about).toEqual(['firing', 'resolved'])
      expect(new Set(heard.map(({ eventId }) => eventId)).size, about).toBe(2)
      expect(new Set(heard.map(({ dedupKey }) => dedupKey)), about).toEqual(new Set([`${alert.alertId}-1`]))
      expect(
        heard.findIndex(({ event }) => event === 'resolved'),
        about,
      ).toBe(heard.filter(({ event }) => event === 'firing').length)
      expect(heard.length, about).toBeLessThanOrEqual(3)
      const changes = await db.read((tx) => listStateChanges(tx, alert.alertId))
      expect(
        changes.map(({ to }) => to).filter((state) => state === 'Firing'),
        about,
      ).toHaveLength(1)
      const due = await db.read((tx) =>
        tx.selectFrom('notifications').select('notification_id').where('status', '=', 'due').execute(),
      )
      expect(due, about).toEqual([])
      await db.write((tx) => removeAlert(tx, alert.alertId))
      if (outcome.diedBefore === null) break
      diedBefore.add(outcome.diedBefore)
      if (heard.length > 2) doubledBy.add(outcome.diedBefore)
    }
    // There was a crash before every step between the change of state and the record of the delivery.
    expect(diedBefore).toEqual(
      new Set([
        ...[
          'begin',
          'updateTable alert_states',
          'insertInto alert_history',
          'insertInto notifications',
          'commit',
        ],
        ...['answer of the commit', 'send', 'answer of the receiver', 'updateTable notifications'],
        'insertInto installation',
      ]),
    )
    expect([...doubledBy].sort()).toEqual([
      'answer of the receiver',
      'begin',
      'commit',
      'updateTable notifications',
    ])
  }, 60_000)
})
