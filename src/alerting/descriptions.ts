import { type Clock, sleep } from '../clock.ts'
import type { Notification } from '../domain/alerts/notification.ts'
import type { Log } from '../log.ts'

/** What serves in an environment, and why it does not work. */
export type Describe = (appEnvId: string) => Promise<Pick<Notification, 'servingVersion' | 'diagnosis'>>

interface DescriptionsDeps {
  clock: Clock
  log: Log
  /** Absent: notifications carry no diagnosis. */
  describe?: Describe
}

/** A notification must not wait for a slow log or an unreachable machine. */
const longestMs = 3_000
const mostKept = 200

/** Completes notifications before their first attempt. All receivers of an event get the same. */
export class Descriptions {
  readonly #deps: DescriptionsDeps
  readonly #kept = new Map<string, Promise<Notification>>()

  constructor(deps: DescriptionsDeps) {
    this.#deps = deps
  }

  complete(notification: Notification): Promise<Notification> {
    if (!this.#deps.describe || notification.event === 'test') return Promise.resolve(notification)
    const kept = this.#kept.get(notification.eventId) ?? this.#described(notification)
    this.#kept.set(notification.eventId, kept)
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= mostKept) break
      this.#kept.delete(oldest)
    }
    return kept
  }

  async #described(notification: Notification): Promise<Notification> {
    const { clock, log, describe } = this.#deps
    try {
      const description = await Promise.race([describe!(notification.appEnvId), sleep(clock, longestMs)])
      return { ...notification, ...description }
    } catch (error) {
      // Also if the environment was deleted.
      log.debug({ err: error, eventId: notification.eventId }, 'sending a notification without diagnosis')
      return notification
    }
  }
}
