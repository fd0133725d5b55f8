import { randomUUID } from 'node:crypto'
import { isRead, type Operation, type OutputOf } from '../contract/operation.ts'
import { brokeUnderWay, neverArrived } from './answer-error.ts'
import type { CallOptions, Client } from './client.ts'

/**
 * A client whose platform may move or restart: if it cannot be reached, calls `connect(true)` once and sends the request
 * again. Writes use the same idempotency key both times.
 */
export function createReconnectingClient(connect: (again: boolean) => Promise<Client>): Client {
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
        return (await connect(true)).call(row, input, keyed)
      }
    },
  }
}
