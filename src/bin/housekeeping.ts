import { type Cancel, every, timestamp } from '../clock.ts'
import type { Platform } from '../platform.ts'
import { forgetAnswersBefore } from '../store/idempotency.ts'
import { forgetNoticesBefore } from '../store/notices.ts'
import { forgetUnusedUploads, listUploadIds } from '../store/uploads.ts'

const periodMs = 10 * 60_000
const dayMs = 86_400_000

/** Forgets, now and then, what contract.md keeps for a time only: answers, notices, uploads and logs. */
export function keepHouse(platform: Platform): Cancel {
  return every(platform.clock, periodMs, () => forgetTheOld(platform))
}

async function forgetTheOld({ db, clock, logs, uploads, log }: Platform): Promise<void> {
  try {
    const nowMs = clock.wallMs()
    await db.write((tx) => forgetAnswersBefore(tx, timestamp(nowMs - dayMs)))
    await db.write((tx) => forgetNoticesBefore(tx, timestamp(nowMs - 7 * dayMs)))
    await db.write((tx) => forgetUnusedUploads(tx, timestamp(nowMs - dayMs)))
    await uploads.sweep(await db.read((tx) => listUploadIds(tx)))
    await logs.sweep(nowMs)
  } catch (error) {
    log.warn({ err: error }, 'housekeeping failed; it is tried again')
  }
}
