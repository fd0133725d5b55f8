import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Cancel, Clock } from '../clock.ts'
import type { HttpTransport } from './http-transport.ts'
import type { McpServer } from './server.ts'

export interface Session {
  id: string
  /** What the request that opened it asked for, as one text: it stays that. */
  asked: string
  /** Whether its client knows an empty first event (2025-11-25): what it was greeted with, whatever headers say. */
  primes: boolean
  transport: HttpTransport
  server: McpServer
}

interface KeptSession extends Session {
  tokenHash: Buffer
  usedMs: number
  /** POSTs under way; a session with any is not expired. */
  busy: number
}

export interface SessionLimits {
  most: number
  /** Of one token. */
  mostOfOne: number
  idleMs: number
}

/**
 * Sessions of clients that can be asked questions: the answer to a question comes with another request, so
 * something must remember it. Capped and expired; a session works only with the token that opened it.
 */
export class HttpSessions {
  readonly #sessions = new Map<string, KeptSession>()
  readonly #limits: SessionLimits
  readonly #clock: Clock
  #cancelSweep: Cancel | undefined

  constructor(limits: SessionLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  get size(): number {
    return this.#sessions.size
  }

  /**
   * Opens a session, closing the one longest unused when there are too many, of this token or of all; null when
   * these are at work.
   */
  open(token: string, parts: Omit<Session, 'id'>): Session | null {
    const tokenHash = hashOf(token)
    const own = [...this.#sessions.values()].filter((one) => one.tokenHash.equals(tokenHash))
    if (own.length >= this.#limits.mostOfOne && !this.#closeOldest(own)) return null
    if (this.#sessions.size >= this.#limits.most && !this.#closeOldest(this.#sessions.values())) return null
    const session: KeptSession = {
      id: randomBytes(18).toString('base64url'),
      ...parts,
      tokenHash,
      usedMs: this.#clock.monotonicMs(),
      busy: 0,
    }
    this.#sessions.set(session.id, session)
    this.#cancelSweep ??= this.#clock.after(this.#limits.idleMs, () => this.#sweep())
    return session
  }

  /** The session, or null when it is unknown, expired or another caller's: these look the same. */
  find(id: string, token: string): Session | null {
    const session = this.#sessions.get(id)
    if (session === undefined || !timingSafeEqual(session.tokenHash, hashOf(token))) return null
    session.usedMs = this.#clock.monotonicMs()
    return session
  }

  /** Counts a request under way; call what comes back when it is over. */
  use(session: Session): () => void {
    const kept = session as KeptSession
    kept.busy += 1
    return () => {
      kept.busy -= 1
      kept.usedMs = this.#clock.monotonicMs()
    }
  }

  end(id: string): void {
    const session = this.#sessions.get(id)
    if (session === undefined) return
    this.#sessions.delete(id)
    void session.server.close()
  }

  close(): void {
    this.#cancelSweep?.()
    this.#cancelSweep = undefined
    for (const id of [...this.#sessions.keys()]) this.end(id)
  }

  #sweep(): void {
    this.#cancelSweep = undefined
    const now = this.#clock.monotonicMs()
    for (const session of [...this.#sessions.values()]) {
      if (session.busy === 0 && now - session.usedMs >= this.#limits.idleMs) this.end(session.id)
    }
    if (this.#sessions.size > 0) {
      this.#cancelSweep = this.#clock.after(this.#limits.idleMs / 4, () => this.#sweep())
    }
  }

  #closeOldest(among: Iterable<KeptSession>): boolean {
    let oldest: KeptSession | undefined
    for (const session of among) {
      if (session.busy === 0 && (oldest === undefined || session.usedMs < oldest.usedMs)) oldest = session
    }
    if (oldest === undefined) return false
    this.end(oldest.id)
    return true
  }
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
