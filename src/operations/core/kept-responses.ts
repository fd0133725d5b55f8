import { randomUUID } from 'node:crypto'
import { AppError } from '../../errors.ts'
import type { Db, Tx } from '../../store/db.ts'
import {
  completeResponse,
  findKeptResponse,
  type HeldKey,
  type KeptResponse,
  keepResponse,
  releaseKey,
} from '../../store/repositories/idempotency.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { Call, Reply } from './call.ts'
import type { Caller } from './caller.ts'
import { hashOf, keptBody, keyHolder, replay, requireSameRequest } from './idempotency.ts'

/** Longer than any operation works after its commit: an older run of another instance has ended. */
const longestRunMs = 60_000

export interface KeptResponsesDeps {
  db: Db
  secrets: SecretBox
  /** A name that no other living instance has. */
  node: string
  /** Whether the instance with that name is there. Absent: this one is the only one. */
  isAlive?: ((node: string) => boolean) | undefined
}

/** The same request runs now in this process; `first` resolves at its end. */
interface RunsAlready {
  first: Promise<void>
}

/**
 * The answers of writes by idempotency key. If an operation answers after its commit, the transaction keeps a provisional
 * answer, and the run completes it. A repeated request waits for that run, because clients that lose a connection repeat
 * immediately; another instance answers 409. After a crash it gets the provisional answer at once, or runs if there is none.
 */
export class KeptResponses {
  readonly #db: Db
  readonly #secrets: SecretBox
  readonly #ids: string
  readonly #isAlive: (node: string) => boolean
  readonly #running = new Map<string, Promise<void>>()

  constructor({ db, secrets, node, isAlive = () => false }: KeptResponsesDeps) {
    this.#db = db
    this.#secrets = secrets
    this.#ids = `${node}/`
    this.#isAlive = isAlive
  }

  /** Carries out one run of a write. */
  async track<T>(work: (runId: string) => Promise<T>): Promise<T> {
    const runId = this.#ids + randomUUID()
    const done = work(runId)
    const ended = () => {
      this.#running.delete(runId)
    }
    this.#running.set(runId, done.then(ended, ended))
    return done
  }

  async find(tx: Tx, caller: Caller, call: Call): Promise<KeptResponse | null> {
    const held = heldKey(caller, call)
    return held && findKeptResponse(tx, held)
  }

  /** The answer of the earlier request with the key. Null: there is none, and this request runs. */
  async answerOf(
    tx: Tx,
    kept: KeptResponse,
    { caller, call, now }: { caller: Caller; call: Call; now: string },
  ): Promise<Reply | RunsAlready | null> {
    requireSameRequest(kept, call)
    const held = heldKey(caller, call)!
    const { runId } = kept
    if (runId !== null) {
      const first = this.#running.get(runId)
      if (first) return { first }
      if (this.#mayRunElsewhere(runId, kept, now)) throw stillRunning()
      // No response was stored, so this request runs. A token is never part of a provisional answer.
      if (kept.body === '') {
        await releaseKey(tx, held, runId)
        return null
      }
      // Stored as the final answer: if the run completed meanwhile, this conflicts, and the next attempt reads its answer.
      await completeResponse(tx, held, { runId, body: kept.body })
    }
    return replay(this.#secrets, caller, held.key, kept)
  }

  /** Keeps the answer. `runId`: the run that completes it; null if it is complete. */
  async keep(
    tx: Tx,
    { caller, call, now }: { caller: Caller; call: Call; now: string },
    { reply, runId }: { reply: Reply | null; runId: string | null },
  ): Promise<void> {
    const held = heldKey(caller, call)
    if (!held) return
    const body = reply ? keptBody(this.#secrets, caller, call, reply.body) : ''
    await keepResponse(tx, held, {
      requestHash: hashOf(call),
      status: reply?.status ?? 200,
      body,
      createdAt: now,
      runId,
    })
  }

  /** Completes the response that the transaction kept; with null, frees the key. */
  async complete(caller: Caller, call: Call, { reply, runId }: { reply: Reply | null; runId: string }) {
    const held = heldKey(caller, call)
    if (!held) return
    const body = reply && keptBody(this.#secrets, caller, call, reply.body)
    await this.#db.write((tx) =>
      body === null ? releaseKey(tx, held, runId) : completeResponse(tx, held, { runId, body }),
    )
  }

  /** A run of this machine that is not in memory ended with an earlier process. */
  #mayRunElsewhere(runId: string, { createdAt }: KeptResponse, now: string): boolean {
    const node = runId.slice(0, runId.lastIndexOf('/'))
    const isRecent = Date.parse(now) - Date.parse(createdAt) < longestRunMs
    return !runId.startsWith(this.#ids) && isRecent && this.#isAlive(node)
  }
}

function heldKey(caller: Caller, { idempotencyKey: key }: Call): HeldKey | null {
  return key === null ? null : { holder: keyHolder(caller), key }
}

function stillRunning(): AppError {
  return new AppError('conflict', 'The same request is still running', {
    details:
      'A request with this Idempotency-Key has no answer yet. Send it again with the same key to get the answer.',
    retryAfterSeconds: 5,
  })
}
