import { counted } from '../../amounts.ts'

/** Copies at once. One place is kept for the other accounts. */
const copyPlaces = 3

interface Copy {
  id: string
  accountId: string
  appEnvId: string
}

interface Places {
  begin: Copy[]
  /** Why each of the others waits, by id. */
  waits: Map<string, string>
}

/**
 * Chooses the copies that begin now: the account with the fewest running ones first, of these the one that has waited
 * longest; one at a time for each environment. `waiting` is oldest first.
 */
export function choosePlaces(waiting: readonly Copy[], running: readonly Copy[]): Places {
  const taken = [...running]
  const begin: Copy[] = []
  const waits = new Map<string, string>()
  const left = [...waiting]
  const takenBy = (accountId: string) => taken.filter((one) => one.accountId === accountId).length
  while (left.length > 0) {
    const open = left.filter((one) => blockedBy(one, taken) === null)
    const [first] = open.sort((a, b) => takenBy(a.accountId) - takenBy(b.accountId))
    if (!first) break
    left.splice(left.indexOf(first), 1)
    taken.push(first)
    begin.push(first)
  }
  for (const one of left) waits.set(one.id, blockedBy(one, taken)!)
  return { begin, waits }
}

function blockedBy({ accountId, appEnvId }: Copy, taken: readonly Copy[]): string | null {
  if (taken.some((one) => one.appEnvId === appEnvId)) return 'Another copy of this environment is under way.'
  if (taken.length >= copyPlaces)
    return `${counted(copyPlaces, 'copy is', 'copies are')} under way on this machine, which is as many as it makes at once.`
  const own = taken.filter((one) => one.accountId === accountId).length
  if (own < copyPlaces - 1) return null
  return `${counted(own, 'copy', 'copies')} of the account are under way; one more place is kept for other accounts.`
}
