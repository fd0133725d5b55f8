import type { Tx } from '../../store/db.ts'
import { listContactPointsOf } from '../../store/repositories/contact-points.ts'

/** Messages of one notification to some contact points: each address of an e-mail counts, and each other channel. */
export async function peopleNotified(tx: Tx, contactPointIds: readonly string[]): Promise<number> {
  const points = await listContactPointsOf(tx, { contactPointIds })
  return points.reduce(
    (sum, { type, config }) => sum + (type === 'email' ? (config.addresses?.length ?? 0) : 1),
    0,
  )
}
