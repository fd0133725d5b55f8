import type { Call, Reply } from './call.ts'
import type { Caller } from './caller.ts'
import { ApprovalNeeded, type HeldWrite } from './policy-gate.ts'
import type { RefusalAudit, Trace } from './refusal-audit.ts'

/** Makes an approval for a write that people must agree to; its answer takes the place of the write's. */
export type OnAsk = (ask: { call: Call; caller: Caller; held: HeldWrite }) => Promise<Reply>

interface WriteFailuresDeps {
  refusals: RefusalAudit
  /** Absent: such writes are refused. */
  onAsk?: OnAsk | undefined
}

/** Decides the answer to a write whose transaction was rolled back. */
export class WriteFailures {
  readonly #deps: WriteFailuresDeps

  constructor(deps: WriteFailuresDeps) {
    this.#deps = deps
  }

  async answer(error: unknown, call: Call, trace: Trace): Promise<Reply> {
    const { refusals, onAsk } = this.#deps
    if (error instanceof ApprovalNeeded && onAsk)
      return onAsk({ call, caller: trace.caller!, held: error.held })
    await refusals.note(error, call, trace)
    throw error
  }
}
