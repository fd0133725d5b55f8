import { randomUUID } from 'node:crypto'
import { type Clock, sleep, systemClock } from '../clock.ts'
import { isRead, type Operation, type OutputOf } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import { brokeUnderWay, neverArrived } from './answer-error.ts'
import type { CallOptions, Client } from './client.ts'

/** Five seconds apart, 20 s in all: longer than another instance needs to find that the first one is gone. */
const mostRepeats = 4

/**
 * A client whose platform may move or restart: if it cannot be reached, calls `connect(true)` once and sends the request
 * again. Writes use the same idempotency key both times.
 */
export function createReconnectingClient(
  connect: (again: boolean) => Promise<Client>,
  clock: Clock = systemClock,
): Client {
  return {
    async call<Row extends Operation>(
      row: Row,
      input: Readonly<Record<string, unknown>>,
      options: CallOptions = {},
    ): Promise<OutputOf<Row>> {
      const keyed = isRead(row)
        ? options
        : { ...options, idempotencyKey: options.idempotencyKey ?? randomUUID() }
      const client = await connect(false)
      try {
        return await client.call(row, input, keyed)
      } catch (error) {
        options.signal?.throwIfAborted()
        // Responses with a token are not stored for replays, so repeat these only if the request never arrived.
        const repeatable = neverArrived(error) || (brokeUnderWay(error) && row.answersSecret !== true)
        if (!repeatable) throw error
        const next = await connect(true)
        return await untilAnswered(() => next.call(row, input, keyed), clock, options.signal)
      }
    },
  }
}

/** Another instance refuses the repeated request as long as the first one may still carry it out. */
async function untilAnswered<T>(send: () => Promise<T>, clock: Clock, signal?: AbortSignal): Promise<T> {
  for (let repeats = 0; ; repeats += 1) {
    try {
      return await send()
    } catch (error) {
      const waitSeconds = error instanceof AppError && error.kind === 'conflict' && error.retryAfterSeconds
      if (!waitSeconds || repeats === mostRepeats) throw error
      await sleep(clock, waitSeconds * 1_000, signal)
      signal?.throwIfAborted()
    }
  }
}
