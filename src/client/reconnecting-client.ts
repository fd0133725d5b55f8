import { randomUUID } from 'node:crypto'
import { isRead, type Operation, type OutputOf } from '../contract/operation.ts'
import { brokeUnderWay, neverArrived } from './answer-error.ts'
import type { CallOptions, Client } from './client.ts'

/**
 * A client whose platform may move or restart: when it cannot be reached, `connect(true)` is asked once to
 * bring it back, and the call is sent again. Writes carry the same idempotency key both times.
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
        // A row that shows a token keeps no answer for a replay, so only a request that never arrived is repeated.
        const repeatable = neverArrived(error) || (brokeUnderWay(error) && row.answersSecret !== true)
        if (!repeatable) throw error
        return (await connect(true)).call(row, input, keyed)
      }
    },
  }
}
