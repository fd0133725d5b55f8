import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NotificationWorker } from '../../../src/alerting/notification-worker.ts'
import type { NotifyResult } from '../../../src/alerting/notifiers/notifier.ts'
import { insertNotification, listDueContactPoints } from '../../../src/alerting/outbox.ts'
import { testNotification } from '../../../src/domain/alerts/notification.ts'
import { createLog, Secret } from '../../../src/log.ts'
import { insertContactPoint } from '../../../src/store/repositories/contact-points.ts'
import { openSecretBox, parseMasterKey } from '../../../src/store/secrets/secret-box.ts'
import { deferred } from '../../../testkit/deferred.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { LateReads } from '../../../testkit/store/late-reads.ts'
import { openTestStore } from '../../../testkit/store/test-store.ts'

const at = '2026-01-01T00:00:00.000Z'

const isAboutDue = (result: unknown) => Array.isArray(result) && result[0]?.notificationId !== undefined

describe('the worker that sends notifications', () => {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'longshore-notifications-'))
  let store: Awaited<ReturnType<typeof openTestStore>>
  beforeAll(async () => {
    store = await openTestStore(dir)
  })
  afterAll(async () => {
    await store.db.close()
    await store.remove()
    rmSync(dir, { recursive: true, force: true })
  })

  it('sends once what it read as due while the delivery was being stored', async () => {
    const clock = new TestClock()
    const secrets = await openSecretBox(store.db, parseMasterKey(new Secret('11'.repeat(32))), at)
    const base = { accountId: 'acc_1', createdAt: at, updatedAt: at, revision: 1 }
    const url = secrets.seal('http://127.0.0.1/', 'cp_1/url')
    const names = { accountId: 'acc_1', contactPointName: 'x', region: 'north', url: 'http://127.0.0.1/' }
    const notification = testNotification({ ...names, eventId: 'evt_1', at })
    const envelope = { notification, dedupKey: 'one', contactPointId: 'cp_1', ordinal: 0 }
    await store.db.write(async (tx) => {
      await insertContactPoint(tx, {
        ...base,
        contactPointId: 'cp_1',
        name: 'x',
        type: 'webhook',
        config: { url },
      })
      await insertNotification(tx, { ...envelope, alertId: null, appEnvId: null }, 0)
    })
    const rowsCome = deferred()
    const reads = new LateReads()
    const answer = deferred<NotifyResult>()
    let sent = 0
    const notifier = async () => {
      sent += 1
      return answer.promise
    }
    const worker = new NotificationWorker({
      db: reads.wrap(store.db),
      clock,
      secrets,
      notifier,
      clockScale: 1,
      log: createLog('test', 'silent'),
    })
    worker.start()
    await expect.poll(() => sent).toBe(1)
    const looked = reads.hold(isAboutDue, rowsCome.promise)
    // A receiver this slow gets the next notification meanwhile, so the worker looks for one.
    await clock.advance(3_000)
    await looked
    answer.resolve({ ok: true })
    const status = () =>
      store.db.read((tx) => tx.selectFrom('notifications').select('status').executeTakeFirst())
    await expect.poll(status).toEqual({ status: 'delivered' })
    rowsCome.resolve()
    await clock.advance(3_000)
    await worker.stop()
    expect(sent).toBe(1)
  })

  it('takes the contact point first that has waited longest: points that never answer hold up no other for long', async () => {
    const names = { accountId: 'acc_1', contactPointName: 'x', region: 'north', url: 'http://127.0.0.1/' }
    const dueAtMs = { cp_a: 30, cp_b: 10, cp_c: 20, cp_d: 99 }
    await store.db.write(async (tx) => {
      for (const [contactPointId, dueMs] of Object.entries(dueAtMs)) {
        const notification = testNotification({ ...names, eventId: `evt_${contactPointId}`, at })
        const envelope = { notification, dedupKey: contactPointId, contactPointId, ordinal: 0 }
        await insertNotification(tx, { ...envelope, alertId: null, appEnvId: null }, dueMs)
      }
    })
    const due = await store.db.read((tx) => listDueContactPoints(tx, 50, 1_000))
    expect(due).toEqual(['cp_b', 'cp_c', 'cp_a'])
  })
})
