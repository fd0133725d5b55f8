import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NotificationWorker } from '../../../src/alerting/notification-worker.ts'
import type { NotifyResult } from '../../../src/alerting/notifiers/notifier.ts'
import { insertNotification } from '../../../src/alerting/outbox.ts'
import { testNotification } from '../../../src/domain/alerts/notification.ts'
import { createLog, Secret } from '../../../src/log.ts'
import type { Db } from '../../../src/store/db.ts'
import { insertContactPoint } from '../../../src/store/repositories/contact-points.ts'
import { openSecretBox, parseMasterKey } from '../../../src/store/secrets/secret-box.ts'
import { TestClock } from '../../../testkit/fakes/clock.ts'
import { openTestStore } from '../../../testkit/store/test-store.ts'

const at = '2026-01-01T00:00:00.000Z'

/** A promise and what settles it. */
function later<T>() {
  let resolve: (value: T) => void = () => {}
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}

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
    const isStored = later<void>()
    const secondLook = later<void>()
    let looks = 0
    // As from another machine: what the second look read arrives when the delivery is stored.
    const db: Db = {
      ...store.db,
      read: async (work) => {
        const found = await store.db.read(work)
        if (!Array.isArray(found) || found[0]?.notificationId === undefined) return found
        looks += 1
        if (looks !== 2) return found
        secondLook.resolve()
        await isStored.promise
        return found
      },
      write: async (work) => {
        const result = await store.db.write(work)
        // After what follows the write in the worker itself.
        setTimeout(() => isStored.resolve())
        return result
      },
    }
    const answer = later<NotifyResult>()
    let sent = 0
    const notifier = async () => {
      sent += 1
      return answer.promise
    }
    const worker = new NotificationWorker({
      db,
      clock,
      secrets,
      notifier,
      clockScale: 1,
      log: createLog('test', 'silent'),
    })
    worker.start()
    await expect.poll(() => sent).toBe(1)
    // Time for a notification that a receiver is slow to answer: the next one may be sent beside it.
    await clock.advance(3_000)
    await secondLook.promise
    answer.resolve({ ok: true })
    await isStored.promise
    await clock.advance(3_000)
    await worker.stop()
    expect(sent).toBe(1)
    expect(looks).toBe(2)
  })
})
