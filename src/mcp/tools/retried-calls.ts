import { createHash, randomUUID } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { Tool, ToolInput } from './define-tool.ts'

interface Started {
  idempotencyKey: string
  running: number
  /** When its caller left without the result; null otherwise. */
  leftMs: number | null
}

/** Hosts repeat a call soon after its connection broke or they stopped waiting. */
const repeatedWithinMs = 10 * 60_000
const mostKept = 1_000

/**
 * Writes whose callers got no result. The same call of the same caller again gets the idempotency key of the first, so
 * the platform answers with the first one's answer, and nothing is deployed twice.
 */
export class RetriedCalls {
  readonly #clock: Clock
  readonly #started = new Map<string, Started>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Runs a write with its key. A call that is still running is only joined if it waits for a deployment. */
  async run<T>(
    caller: string,
    tool: Tool,
    args: ToolInput,
    { signal, work }: { signal: AbortSignal; work: (idempotencyKey: string) => Promise<T> },
  ): Promise<T> {
    const name = createHash('sha256')
      .update(JSON.stringify([caller, tool.name, args]))
      .digest('base64')
    const one = this.#kept(name, tool) ?? { idempotencyKey: randomUUID(), running: 0, leftMs: null }
    this.#started.set(name, one)
    one.running += 1
    try {
      const result = await work(one.idempotencyKey)
      one.leftMs = null
      return result
    } finally {
      one.running -= 1
      if (signal.aborted) one.leftMs = this.#clock.monotonicMs()
      else if (one.running === 0 && this.#started.get(name) === one) this.#started.delete(name)
      this.#bound()
    }
  }

  #kept(name: string, tool: Tool): Started | undefined {
    const one = this.#started.get(name)
    if (one === undefined) return undefined
    if (one.running > 0 && tool.waits === true) return one
    const { leftMs } = one
    return leftMs !== null && this.#clock.monotonicMs() - leftMs < repeatedWithinMs ? one : undefined
  }

  #bound(): void {
    for (const name of this.#started.keys()) {
      if (this.#started.size <= mostKept) return
      this.#started.delete(name)
    }
  }
}
