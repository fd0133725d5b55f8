import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Cancel, Clock } from '../../../clock.ts'
import type { McpServer } from '../server.ts'
import type { HttpTransport } from './transport.ts'

export interface Session {
  id: string
  /** Options of the request that opened it, as one text; they cannot change. */
  policyText: string
  /** Whether its client supports an empty first event (2025-11-25), by the version of `initialize`, not by headers. */
  primes: boolean
  transport: HttpTransport
  server: McpServer
}

interface KeptSession extends Session {
  tokenHash: Buffer
  principal: string
  usedMs: number
  /** POSTs in flight; a session with any does not expire. */
  busy: number
}

interface SessionLimits {
  most: number
  /** The most sessions of one principal. */
  mostOfOne: number
  idleMs: number
}

/**
 * Sessions of clients that support questions: the answer to a question comes with another request, so the server must
 * keep state. Limited in number and time; a session works only with the token that opened it.
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
   * Opens a session. Over a limit, of this principal or of all, it closes the principal's own longest idle session;
   * null when the principal has no idle one. Sessions of other principals are never closed.
   */
  open(caller: { token: string; principal: string }, deps: Omit<Session, 'id'>): Session | null {
    const { token, principal } = caller
    const own = [...this.#sessions.values()].filter((one) => one.principal === principal)
    const isFull = own.length >= this.#limits.mostOfOne || this.#sessions.size >= this.#limits.most
    if (isFull && !this.#closeOldest(own)) return null
    const session: KeptSession = {
      id: randomBytes(18).toString('base64url'),
      ...deps,
      tokenHash: hashOf(token),
      principal,
      usedMs: this.#clock.monotonicMs(),
      busy: 0,
    }
    this.#sessions.set(session.id, session)
    this.#cancelSweep ??= this.#clock.after(this.#limits.idleMs, () => this.#sweep())
    return session
  }

  /** The session, or null if it is unknown, expired or another caller's; callers cannot tell these apart. */
  find(id: string, token: string): Session | null {
    const session = this.#sessions.get(id)
    if (session === undefined || !timingSafeEqual(session.tokenHash, hashOf(token))) return null
    session.usedMs = this.#clock.monotonicMs()
    return session
  }

  /** Counts a request in flight; call the returned function at its end. */
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
