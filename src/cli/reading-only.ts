import type { Client } from '../client/client.ts'
import { isRead } from '../contract/operation.ts'
import { AppError } from '../errors.ts'

/** A client for a shell with `LONGSHORE_READ_ONLY`: it makes reads and dry runs, and refuses every other call. */
export function readingOnly(client: Client): Client {
  return {
    async call(row, input, options) {
      if (isRead(row) || options?.dryRun === true) return client.call(row, input, options)
      throw new AppError('forbidden', 'This shell is read-only', {
        details: 'LONGSHORE_READ_ONLY is set. Unset it to change something.',
      })
    },
  }
}
