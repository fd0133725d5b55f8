import type { Call, Reply } from './call.ts'
import { ApprovalNeeded } from './policy-gate.ts'
import type { RefusalAudit, Trace } from './refusal-audit.ts'

interface WriteFailuresDeps {
  refusals: RefusalAudit
  /** Makes an approval for a write that people must agree to; its answer takes the place of the write's. */
  onAsk: (call: Call) => Promise<Reply>
}

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
    throw error
  }
}
