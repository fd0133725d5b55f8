import { type Clock, sleep, timestamp } from '../clock.ts'
import { type Receiver, receiverOf } from '../domain/alerts/contact-point.ts'
import { giveUpAfterMs, type Notification, retryDelayMs } from '../domain/alerts/notification.ts'
import type { Log } from '../log.ts'
import type { Db } from '../store/db.ts'
import { findReceivingContactPoint } from '../store/repositories/contact-points.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'
import { writeUntilStored } from '../store/write-until-stored.ts'
import { Worker } from '../worker.ts'
import { withOpenToken } from './agent-token.ts'
import { type Describe, Descriptions } from './descriptions.ts'
import type { Notifier, NotifyResult } from './notifiers/notifier.ts'
import {
  type AttemptRecord,
  findNotification,
  listDueContactPoints,
  listDueNotifications,
  type OutboxNotification,
  recordAttempt,
} from './outbox.ts'

const lookEveryMs = 1_000
const shortestLookMs = 50
/** No wait is longer. A time further ahead was written before the wall clock stepped back, so it counts as due. */
const longestWaitMs = 2 * 3_600_000
const mostAtOnce = 256
const mostPerPoint = 8
/**
 * A recent send may be accepted any moment, and a crash would then repeat it, so only a few are in this state at a
 * time. Older ones wait for a slow receiver without delaying others. The usual response time is learned per contact
 * point; until it is known, and while it is long, sends are sequential.
 */
const leastFreshMs = 250
const longestFreshMs = 2_000
const freshPerAnswer = 4
const quickAnswerMs = 100
const mostFresh = 2
/** How much of a long response time remains after a shorter one. */
const decayFactor = 0.8
/** After so many failures in a row, a contact point gets one notification at a time. */
const failureThreshold = 3
const testAttempts = 2
const stopWaitMs = 3_000
/** How long a test of a contact point waits for the store. */
const storeWaitMs = 2_000

export interface NotificationWorkerDeps {
  db: Db
  clock: Clock
  log: Log
  secrets: SecretBox
  notifier: Notifier
  clockScale: number
  random?: () => number
  describe?: Describe
}

interface NotificationAttempt {
  at: string
  ok: boolean
  reason?: string
}

/**
 * Sends the outbox at least once. Each contact point has a few lanes of its own, and only one while it keeps failing,
 * so that a receiver that never answers delays no other. A crash can repeat only notifications that were sent and not
 * recorded: two per contact point.
 */
export class NotificationWorker {
  readonly #deps: NotificationWorkerDeps
  /** Notifications being sent, with their monotonic start times, by contact point. */
  readonly #lanes = new Map<string, Map<string, number>>()
  readonly #failures = new Map<string, number>()
  /** Recent worst response time of a contact point, in milliseconds. */
  readonly #answerMs = new Map<string, number>()
  /** Notifications whose sending ended since the last read of due ones began: the read may still contain them. */
  readonly #ended = new Set<string>()
  readonly #sending = new Set<Promise<unknown>>()
  readonly #worker: Worker
  #started = false
  readonly #abort = new AbortController()
  readonly #descriptions: Descriptions

  constructor(deps: NotificationWorkerDeps) {
    this.#deps = deps
    const { clock, clockScale, log } = deps
    this.#descriptions = new Descriptions(deps)
    this.#worker = new Worker({
      clock,
      everyMs: Math.max(shortestLookMs, lookEveryMs / clockScale),
      pass: () => this.#look(),
      failed: (error) => log.warn({ err: error }, 'notifications could not be read; retrying'),
    })
  }

  start(): void {
    this.#started = true
    this.#worker.start()
    this.#worker.wake()
  }

  /** Lets sends in progress finish briefly; interrupted ones are sent again at the next start. */
  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#worker.stop()
    await Promise.race([Promise.allSettled([...this.#sending]), sleep(this.#deps.clock, stopWaitMs)])
  }

  wake(): void {
    if (this.#started) this.#worker.wake()
  }

  /** Sends one stored notification now, with at most two attempts. Never throws. */
  async sendNow(notificationId: string): Promise<{ delivered: boolean; attempts: NotificationAttempt[] }> {
    const attempts: NotificationAttempt[] = []
    const { db, clock, log } = this.#deps
    try {
      const notification = await db.read((tx) => findNotification(tx, notificationId))
      if (!notification) return { delivered: false, attempts }
      const free = this.#occupy(notification)
      await this.#attemptTest(notification, attempts).catch((error) => {
        free()
        throw error
      })
      // Keep the lane until the result is stored, so that the loop does not send it again.
      const stored = this.#recordTest(notification, attempts).finally(() => {
        free()
        this.#sending.delete(stored)
      })
      this.#sending.add(stored)
      await Promise.race([stored, sleep(clock, storeWaitMs)])
    } catch (error) {
      log.warn({ err: error }, 'cannot store the result of a test notification')
    }
    return { delivered: attempts.at(-1)?.ok === true, attempts }
  }

  async #attemptTest(notification: OutboxNotification, attempts: NotificationAttempt[]): Promise<void> {
    const { clock, clockScale } = this.#deps
    for (let count = 1; count <= testAttempts; count += 1) {
      const at = timestamp(clock.wallMs())
      const result = await this.#send(notification)
      attempts.push(result.ok ? { at, ok: true } : { at, ok: false, reason: result.reason })
      if (result.ok || !result.retry) break
      if (count < testAttempts) await sleep(clock, 1_000 / clockScale)
    }
  }

  #recordTest(notification: OutboxNotification, attempts: readonly NotificationAttempt[]): Promise<void> {
    const last = attempts.at(-1)
    return this.#persist(notification.notificationId, {
      notification: notification.notification,
      status: last?.ok ? 'delivered' : 'dead',
      attempts: attempts.length,
      spentMs: 0,
      nextAtMs: 0,
      at: last?.at ?? timestamp(this.#deps.clock.wallMs()),
      reason: last?.reason ?? null,
    })
  }

  async #look(): Promise<void> {
    const { db, clock } = this.#deps
    const nowMs = clock.wallMs()
    this.#ended.clear()
    const points = await db.read((tx) => listDueContactPoints(tx, nowMs, longestWaitMs))
    for (const contactPointId of points) {
      const free = this.#freeLanes(contactPointId)
      if (free <= 0 || this.#abort.signal.aborted) continue
      const limit = free + (this.#lanes.get(contactPointId)?.size ?? 0)
      const due = await db.read((tx) =>
        listDueNotifications(tx, { contactPointId, nowMs, longestWaitMs, limit }),
      )
      const isTaken = ({ notificationId }: OutboxNotification) =>
        this.#ended.has(notificationId) || this.#lanes.get(contactPointId)?.has(notificationId)
      for (const notification of due.filter((one) => !isTaken(one)).slice(0, free)) this.#begin(notification)
    }
  }

  /** How many more notifications may be sent to this contact point now. */
  #freeLanes(contactPointId: string): number {
    const busy = [...(this.#lanes.get(contactPointId)?.values() ?? [])]
    const most = (this.#failures.get(contactPointId) ?? 0) >= failureThreshold ? 1 : mostPerPoint
    const nowMs = this.#deps.clock.monotonicMs()
    const freshMs = this.#freshMs(contactPointId)
    const fresh = busy.filter((beganMs) => nowMs - beganMs < freshMs).length
    const isQuick = (this.#answerMs.get(contactPointId) ?? quickAnswerMs) < quickAnswerMs
    const atRisk = isQuick ? mostFresh : 1
    return Math.min(most - busy.length, atRisk - fresh, mostAtOnce - this.#sending.size)
  }

  /** How long a send to a contact point counts as recent. */
  #freshMs(contactPointId: string): number {
    const answerMs = this.#answerMs.get(contactPointId) ?? longestFreshMs
    return Math.min(longestFreshMs, Math.max(leastFreshMs, freshPerAnswer * answerMs))
  }

  #noteAnswer(contactPointId: string, tookMs: number): void {
    // Longer times are timeouts, not response times.
    if (tookMs >= longestFreshMs) return
    const before = this.#answerMs.get(contactPointId) ?? 0
    this.#answerMs.set(contactPointId, Math.max(tookMs, before * decayFactor))
  }

  #begin(notification: OutboxNotification): void {
    const free = this.#occupy(notification)
    const cancel = this.#deps.clock.after(this.#freshMs(notification.contactPointId), () => this.wake())
    const work = this.#attempt(notification)
      .catch((error) =>
        this.#deps.log.error(
          { err: error },
          'cannot store the result of a notification; it will be sent again',
        ),
      )
      .finally(() => {
        cancel()
        this.#ended.add(notification.notificationId)
        free()
        this.#sending.delete(work)
        this.wake()
      })
    this.#sending.add(work)
  }

  #occupy(notification: OutboxNotification): () => void {
    const { contactPointId, notificationId } = notification
    const lane = this.#lanes.get(contactPointId) ?? new Map<string, number>()
    this.#lanes.set(contactPointId, lane.set(notificationId, this.#deps.clock.monotonicMs()))
    return () => {
      lane.delete(notificationId)
      if (lane.size === 0) this.#lanes.delete(contactPointId)
    }
  }

  async #attempt(stored: OutboxNotification): Promise<void> {
    const { clock } = this.#deps
    const isFirst = stored.attempts === 0
    const notification = isFirst
      ? { ...stored, notification: await this.#descriptions.complete(stored.notification) }
      : stored
    const beganMs = clock.monotonicMs()
    const result = await this.#send(notification)
    const { contactPointId } = notification
    const tookMs = clock.monotonicMs() - beganMs
    this.#noteAnswer(contactPointId, tookMs)
    if (result.ok) this.#failures.delete(contactPointId)
    else this.#failures.set(contactPointId, (this.#failures.get(contactPointId) ?? 0) + 1)
    const record = this.#recordOf(notification, result, tookMs)
    await this.#persist(notification.notificationId, record)
  }

  async #send(due: OutboxNotification): Promise<NotifyResult> {
    const { notificationId, notification, dedupKey, contactPointId } = due
    const { db, clock, secrets, notifier } = this.#deps
    const point = await db.read((tx) => findReceivingContactPoint(tx, contactPointId))
    if (!point) return { ok: false, retry: false, reason: 'the contact point was deleted' }
    let receiver: Receiver
    let body: Notification
    try {
      receiver = receiverOf(point, secrets.open, clock.wallMs())
      body = withOpenToken(notification, notificationId, secrets)
    } catch {
      return { ok: false, retry: true, reason: 'the secrets of the contact point cannot be opened' }
    }
    return notifier(receiver, { notification: body, dedupKey })
  }

  #recordOf(notification: OutboxNotification, result: NotifyResult, tookMs: number): AttemptRecord {
    const { clock, clockScale, random = Math.random } = this.#deps
    const nowMs = clock.wallMs()
    const attempts = notification.attempts + 1
    const sent = { attempts, notification: notification.notification }
    const base = { ...sent, at: timestamp(nowMs), nextAtMs: nowMs, spentMs: notification.spentMs + tookMs }
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

  /**
   * If the store is down, a delivered notification must not be sent again and again, so its lane waits for the store.
   */
  #persist(notificationId: string, record: AttemptRecord): Promise<void> {
    const { db, clock } = this.#deps
    return writeUntilStored(clock, this.#abort.signal, () =>
      db.write((tx) => recordAttempt(tx, notificationId, record)),
    )
  }
}
