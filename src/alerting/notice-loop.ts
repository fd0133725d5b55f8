import { type Cancel, type Clock, sleep, timestamp } from '../clock.ts'
import { type Receiver, receiverOf } from '../domain/contact-point.ts'
import { giveUpAfterMs, retryDelayMs } from '../domain/notice.ts'
import type { Log } from '../log.ts'
import type { Notifier, NotifyResult } from '../notifiers/notifier.ts'
import { findContactPoint } from '../store/contact-points.ts'
import type { Db } from '../store/db.ts'
import {
  type AttemptRecord,
  findNotice,
  listDueContactPoints,
  listDueNotices,
  type OutboxNotice,
  recordAttempt,
} from '../store/notices.ts'
import type { SecretBox } from '../store/secret-box.ts'

const lookEveryMs = 1_000
const shortestLookMs = 50
/** A wait written before the wall clock stepped back is longer than any we ask for: it counts as over. */
const farMs = 2 * 3_600_000
const mostAtOnce = 256
const mostPerPoint = 8
/**
 * A send this young may be accepted any moment, and a crash would then make it go out twice: only a few at a time.
 * Older ones wait for a slow receiver and hold up nobody.
 */
const freshMs = 250
const mostFresh = 2
const patience = 3
const testAttempts = 2
const stopWaitMs = 3_000

export interface NoticeLoopParts {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  notifier: Notifier
  clockScale: number
  random?: () => number
}

export interface NoticeAttempt {
  at: string
  ok: boolean
  reason?: string
}

/**
 * Sends what is in the outbox, at least once. Each contact point has its own few lanes, and one that keeps failing
 * a single one, so that a receiver that swallows everything delays nobody else. What a crash can double is what was
 * sent and not yet written down: two notices a contact point.
 */
export class NoticeLoop {
  readonly #parts: NoticeLoopParts
  /** Notices being sent, with the monotonic time each began, by contact point. */
  readonly #lanes = new Map<string, Map<string, number>>()
  readonly #failures = new Map<string, number>()
  readonly #sending = new Set<Promise<unknown>>()
  #cancel: Cancel = () => {}
  #looking: Promise<void> | null = null
  #lookAgain = false
  #started = false
  #closed = false

  constructor(parts: NoticeLoopParts) {
    this.#parts = parts
  }

  start(): void {
    this.#started = true
    this.wake()
  }

  /** Notices under way get a moment to end; what does not is sent again at the next start. */
  async stop(): Promise<void> {
    this.#closed = true
    this.#cancel()
    await this.#looking
    await Promise.race([Promise.allSettled([...this.#sending]), sleep(this.#parts.clock, stopWaitMs)])
  }

  wake(): void {
    if (!this.#started || this.#closed) return
    if (this.#looking) {
      this.#lookAgain = true
      return
    }
    this.#cancel()
    this.#looking = this.#look()
      .catch((error) => this.#parts.log.warn({ err: error }, 'notices could not be read; tried again'))
      .finally(() => {
        this.#looking = null
        if (this.#closed) return
        if (this.#lookAgain) {
          this.#lookAgain = false
          this.wake()
          return
        }
        const { clock, clockScale } = this.#parts
        const periodMs = Math.max(shortestLookMs, lookEveryMs / clockScale)
        this.#cancel = clock.after(periodMs, () => this.wake())
      })
  }

  /** Sends one stored notice now: two attempts, then it is over. Never throws. */
  async sendNow(noticeId: string): Promise<{ delivered: boolean; attempts: NoticeAttempt[] }> {
    const attempts: NoticeAttempt[] = []
    const { db, clock, clockScale, log } = this.#parts
    try {
      const notice = await db.read((tx) => findNotice(tx, noticeId))
      if (!notice) return { delivered: false, attempts }
      const free = this.#occupy(notice)
      try {
        for (let count = 1; count <= testAttempts; count += 1) {
          const at = timestamp(clock.wallMs())
          const result = await this.#send(notice)
          attempts.push(result.ok ? { at, ok: true } : { at, ok: false, reason: result.reason })
          if (result.ok || !result.retry) break
          if (count < testAttempts) await sleep(clock, 1_000 / clockScale)
        }
        await this.#recordTest(notice, attempts)
      } finally {
        free()
      }
    } catch (error) {
      log.warn({ err: error }, 'a test notice could not be recorded')
    }
    return { delivered: attempts.at(-1)?.ok === true, attempts }
  }

  async #recordTest(notice: OutboxNotice, attempts: readonly NoticeAttempt[]): Promise<void> {
    const last = attempts.at(-1)
    await this.#parts.db.write((tx) =>
      recordAttempt(tx, notice.noticeId, {
        status: last?.ok ? 'delivered' : 'dead',
        attempts: attempts.length,
        spentMs: 0,
        nextAtMs: 0,
        at: last?.at ?? timestamp(this.#parts.clock.wallMs()),
        reason: last?.reason ?? null,
      }),
    )
  }

  async #look(): Promise<void> {
    const { db, clock } = this.#parts
    const nowMs = clock.wallMs()
    const points = await db.read((tx) => listDueContactPoints(tx, nowMs, farMs))
    for (const contactPointId of points) {
      const busy = this.#lanes.get(contactPointId)
      const free = this.#freeLanes(contactPointId)
      if (free <= 0 || this.#closed) continue
      const limit = free + (busy?.size ?? 0)
      const due = await db.read((tx) => listDueNotices(tx, { contactPointId, nowMs, farMs, limit }))
      for (const notice of due.filter((one) => !busy?.has(one.noticeId)).slice(0, free)) this.#begin(notice)
    }
  }

  /** How many more notices may be begun to this contact point now. */
  #freeLanes(contactPointId: string): number {
    const busy = [...(this.#lanes.get(contactPointId)?.values() ?? [])]
    const most = (this.#failures.get(contactPointId) ?? 0) >= patience ? 1 : mostPerPoint
    const nowMs = this.#parts.clock.monotonicMs()
    const fresh = busy.filter((beganMs) => nowMs - beganMs < freshMs).length
    return Math.min(most - busy.length, mostFresh - fresh, mostAtOnce - this.#sending.size)
  }

  #begin(notice: OutboxNotice): void {
    const free = this.#occupy(notice)
    const cancel = this.#parts.clock.after(freshMs, () => this.wake())
    const work = this.#attempt(notice)
      .catch((error) =>
        this.#parts.log.error({ err: error }, 'a notice could not be recorded; it is sent again'),
      )
      .finally(() => {
        cancel()
        free()
        this.#sending.delete(work)
        this.wake()
      })
    this.#sending.add(work)
  }

  #occupy(notice: OutboxNotice): () => void {
    const { contactPointId, noticeId } = notice
    const lane = this.#lanes.get(contactPointId) ?? new Map<string, number>()
    this.#lanes.set(contactPointId, lane.set(noticeId, this.#parts.clock.monotonicMs()))
    return () => {
      lane.delete(noticeId)
      if (lane.size === 0) this.#lanes.delete(contactPointId)
    }
  }

  async #attempt(notice: OutboxNotice): Promise<void> {
    const { clock } = this.#parts
    const beganMs = clock.monotonicMs()
    const result = await this.#send(notice)
    const { contactPointId } = notice
    if (result.ok) this.#failures.delete(contactPointId)
    else this.#failures.set(contactPointId, (this.#failures.get(contactPointId) ?? 0) + 1)
    const record = this.#recordOf(notice, result, clock.monotonicMs() - beganMs)
    await this.#persist(notice.noticeId, record)
  }

  async #send({ notice, dedupKey, contactPointId }: OutboxNotice): Promise<NotifyResult> {
    const { db, secrets, notifier } = this.#parts
    const point = await db.read((tx) => findContactPoint(tx, contactPointId))
    if (!point) return { ok: false, retry: false, reason: 'the contact point was deleted' }
    let receiver: Receiver
    try {
      receiver = receiverOf(point, secrets.open)
    } catch {
      return { ok: false, retry: true, reason: 'the secrets of the contact point cannot be opened' }
    }
    return notifier(receiver, { notice, dedupKey })
  }

  #recordOf(notice: OutboxNotice, result: NotifyResult, tookMs: number): AttemptRecord {
    const { clock, clockScale, random = Math.random } = this.#parts
    const nowMs = clock.wallMs()
    const attempts = notice.attempts + 1
    const base = { attempts, at: timestamp(nowMs), nextAtMs: nowMs, spentMs: notice.spentMs + tookMs }
    if (result.ok) return { ...base, status: 'delivered', reason: null }
    if (!result.retry) return { ...base, status: 'dead', reason: result.reason }
    const delayMs = Math.max(
      retryDelayMs({ attempts, random: random() }) / clockScale,
      result.retryAfterMs ?? 0,
    )
    const spentMs = base.spentMs + delayMs
    if (spentMs >= giveUpAfterMs / clockScale) {
      return { ...base, status: 'dead', reason: `given up after 24 h: ${result.reason}` }
    }
    return { ...base, status: 'due', reason: result.reason, spentMs, nextAtMs: nowMs + delayMs }
  }

  /** A store that is away must not make a delivered notice go out again and again: its lane waits until it is back. */
  async #persist(noticeId: string, record: AttemptRecord): Promise<void> {
    const { db, clock } = this.#parts
    for (let count = 0; ; count += 1) {
      try {
        await db.write((tx) => recordAttempt(tx, noticeId, record))
        return
      } catch (error) {
        if (this.#closed) throw error
        await sleep(clock, Math.min(100 * 2 ** count, 5_000))
      }
    }
  }
}
