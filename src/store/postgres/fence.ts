import { AppError } from '../../errors.ts'
import type { Db, Tx } from '../db.ts'

/** A lease that was taken: `token` is the number of changes of its holder. */
export interface HeldLease {
  name: string
  token: number
}

/**
 * The database of the work under a lease: each transaction first checks that the lease is still held, so that a holder
 * that was paused changes nothing. The row is locked until a write ends, and the next holder waits for that.
 */
export function fenced(db: Db, lease: HeldLease): Db {
  const checked =
    <T>(work: (tx: Tx) => Promise<T>, locks: boolean) =>
    async (tx: Tx) => {
      await check(tx, lease, locks)
      return work(tx)
    }
  return {
    read: (work) => db.read(checked(work, false)),
    write: (work) => db.write(checked(work, true)),
    rehearse: (work) => db.rehearse(checked(work, true)),
    close: () => db.close(),
  }
}

async function check(tx: Tx, { name, token }: HeldLease, locks: boolean): Promise<void> {
  const query = tx.selectFrom('leases').select('token').where('name', '=', name).where('token', '=', token)
  const row = await (locks ? query.forShare() : query).executeTakeFirst()
  if (row) return
  throw new AppError('unavailable', `Another control plane took over the work ${name}`, {
    details: 'It continues there; nothing was changed here.',
    retryAfterSeconds: 1,
  })
}
