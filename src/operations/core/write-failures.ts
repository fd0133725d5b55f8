import { type Clock, timestamp } from '../../clock.ts'
import { AppError } from '../../errors.ts'
import type { Db } from '../../store/db.ts'
import { addFailedWrite } from '../../store/repositories/failed-writes.ts'
import type { Call, Reply } from './call.ts'
import { hashOf } from './idempotency.ts'
import { ApprovalNeeded } from './policy-gate.ts'
import type { RefusalAudit, Trace } from './refusal-audit.ts'

interface WriteFailuresDeps {
  db: Db
  clock: Clock
  refusals: RefusalAudit
  /** Makes an approval for a write that people must agree to; its answer takes the place of the write's. */
  onAsk: (call: Call) => Promise<Reply>
}

const memoryMs = 10 * 60_000
/** The same failing request so many times is a loop. */
const mostSame = 3
/** Failures that a repetition may well end. */
const passing: ReadonlySet<string> = new Set(['unauthenticated', 'rate-limited', 'unavailable'])

/** Decides the answer to a write whose transaction was rolled back. */
export class WriteFailures {
  readonly #deps: WriteFailuresDeps

  constructor(deps: WriteFailuresDeps) {
    this.#deps = deps
  }

  async answer(error: unknown, call: Call, trace: Trace): Promise<Reply> {
    const { refusals, onAsk } = this.#deps
    if (error instanceof ApprovalNeeded) return onAsk(call)
    await refusals.note(error, call, trace)
    throw (await this.#loopOf(error, call, trace)) ?? error
  }

  /** The third identical failing write of a caller that is not a person within ten minutes; null: it is none. */
  async #loopOf(error: unknown, call: Call, { caller }: Trace): Promise<AppError | null> {
    if (!(error instanceof AppError) || passing.has(error.kind)) return null
    if (!caller || caller.actor === 'person') return null
    const nowMs = this.#deps.clock.wallMs()
    const failed = {
      principal: caller.principal,
      request: hashOf(call),
      at: timestamp(nowMs),
      reason: [error.message, error.details].filter(Boolean).join(': ').slice(0, 500),
    }
    const same = await this.#deps.db
      .write((tx) => addFailedWrite(tx, failed, timestamp(nowMs - memoryMs)))
      // The store is unavailable or full. The caller still gets the first error.
      .catch(() => [])
    if (same.length < mostSame) return null
    const last = same.slice(-mostSame)
    const until = Date.parse(last[0]!.at) + memoryMs
    return new AppError('rate-limited', 'Repeated failure', {
      details: `The same call failed ${same.length} times within ten minutes: ${last.map(({ reason }, index) => `(${index + 1}) ${reason}`).join(' ')} Change the call, or ask a person.`,
      rule: 'loop-breaker',
      retryAfterSeconds: Math.max(1, Math.ceil((until - nowMs) / 1000)),
    })
  }
}
