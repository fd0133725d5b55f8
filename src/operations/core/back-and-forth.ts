import { isDeepStrictEqual } from 'node:util'
import { secretMask } from '../../contract/fields.ts'
import { listRecentChanges } from '../../store/repositories/audit-changes.ts'
import { changedPaths } from './diff.ts'
import type { Change, Context } from './handler.ts'

const hourMs = 3_600_000

/** Fields that follow from others, or that say what runs. */
const notSettings = /^(?:applied\.|status$|desiredState$)/

/**
 * The field that a caller who is not a person sets back and forth for the third time within an hour, which is a loop between
 * two opinions; null: none.
 */
export async function backAndForth(
  { tx, now, caller }: Context,
  change: Change | undefined,
): Promise<string | null> {
  if (caller.actor === 'person' || !change || change.before === null || change.after === null) return null
  const settings = changesOf(change)
  if (settings.length === 0) return null
  const since = new Date(Date.parse(now) - hourMs).toISOString()
  const { objectType, objectId } = change
  const recent = await listRecentChanges(tx, { objectType, objectId, since })
  const earlier = recent.filter(({ decision }) => decision?.kind !== 'person').map(changesOf)
  const found = settings.find(({ path, before, after }) => {
    const [last, first] = earlier.flatMap((changes) => changes.filter((one) => one.path === path))
    return isSame(last, { before: after, after: before }) && isSame(first, { before, after })
  })
  return found?.path ?? null
}

function changesOf({ before, after }: { before: unknown; after: unknown }) {
  return changedPaths(before, after).filter(
    (one) => !notSettings.test(one.path) && !JSON.stringify([one.before, one.after]).includes(secretMask),
  )
}

function isSame(
  one: { before: unknown; after: unknown } | undefined,
  other: { before: unknown; after: unknown },
): boolean {
  return one !== undefined && isDeepStrictEqual([one.before, one.after], [other.before, other.after])
}
