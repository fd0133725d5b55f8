import { forgetNotificationsBefore } from '../alerting/outbox.ts'
import { timestamp } from '../clock.ts'
import type { ConsoleSessions } from '../operations/access/console-sessions.ts'
import { forgetAnswersBefore } from '../store/repositories/idempotency.ts'
import { forgetUnusedUploads, listUploadIds } from '../store/repositories/uploads.ts'
import { Worker } from '../worker.ts'
import type { Platform } from './platform.ts'

const periodMs = 10 * 60_000
const dayMs = 86_400_000

/** Deletes expired answers (docs/interface.md#idempotency), notifications, uploads and logs. */
export function keepHouse(platform: Platform, sessions: ConsoleSessions): Worker {
  const { clock, log } = platform
  const worker = new Worker({
    clock,
    everyMs: periodMs,
    pass: () => forgetTheOld(platform, sessions),
    failed: (error) => log.warn({ err: error }, 'housekeeping failed; retrying'),
  })
  worker.start()
  return worker
}

async function forgetTheOld(
  { db, clock, logs, uploads }: Platform,
  sessions: ConsoleSessions,
): Promise<void> {
  const nowMs = clock.wallMs()
  await db.write((tx) => forgetAnswersBefore(tx, timestamp(nowMs - dayMs)))
  await db.write((tx) => forgetNotificationsBefore(tx, timestamp(nowMs - 7 * dayMs)))
  await db.write((tx) => forgetUnusedUploads(tx, timestamp(nowMs - dayMs)))
  await sessions.sweep()
  await uploads.sweep(await db.read((tx) => listUploadIds(tx)))
  await logs.sweep(nowMs)
}
