import { z } from 'zod'

/** A pending change of another user, which an agent's call left pending. `by` is null if its author is unknown. */
const heldChange = z.object({ path: z.string(), by: z.string().nullable() })
export type HeldChange = z.output<typeof heldChange>

/** In answers of calls that put pending changes in force; absent if none was left pending. */
export const heldChanges = z.array(heldChange).optional()

/** The value of `includeChangesOf` that puts these changes in force too. */
export function usersToInclude(held: readonly Pick<HeldChange, 'by'>[]): string[] {
  const users = [...new Set(held.map(({ by }) => by))]
  return users.includes(null) ? ['all'] : (users as string[])
}
