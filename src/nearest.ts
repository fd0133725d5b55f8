/**
 * The known name that was probably meant: one that it begins, or at most a third of its letters differ. Null when none
 * is near.
 */
export function nearestName(given: string, known: readonly string[]): string | null {
  const begun = given.length < 2 ? [] : known.filter((name) => name.startsWith(given))
  if (begun.length === 1) return begun[0]!
  const near = known
    .map((name) => ({ name, changes: changesBetween(given, name) }))
    .sort((one, other) => one.changes - other.changes)[0]
  return near && near.changes <= Math.max(1, Math.ceil(near.name.length / 3)) ? near.name : null
}

/** No name is longer. The comparison takes time by the product of the lengths. */
const longestName = 140

/** Letters to change, add or leave out to turn one word into the other; infinite if one is too long to be a name. */
export function changesBetween(one: string, other: string): number {
  if (Math.max(one.length, other.length) > longestName) return Number.POSITIVE_INFINITY
  let above = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [row, letter] of [...one].entries()) {
    const present = [row + 1]
    for (const [column, wanted] of [...other].entries()) {
      const swap = above[column]! + (letter === wanted ? 0 : 1)
      present.push(Math.min(swap, above[column + 1]! + 1, present[column]! + 1))
    }
    above = present
  }
  return above.at(-1)!
}
