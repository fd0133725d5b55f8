import { undoChange } from '../contract/audit.ts'
import { differences, fieldPath, reversal } from '../domain/undo.ts'
import { AppError } from '../errors.ts'
import type { StoredJournalEntry } from '../store/journal.ts'
import { handler } from './handler.ts'
import { requireReach } from './reach.ts'
import { type Undoer, undoers } from './undoers.ts'

/**
 * Puts the changed fields of one entry back, and only them. Refused with the reason when it cannot be done, or
 * when somebody changed the same fields since: their change is not lost by an undo of an older one.
 */
export default handler(undoChange, async (context, _input, target) => {
  const { entry } = target
  const undoer = undoerOf(entry)
  const differing = differences(entry.before, entry.after)
  const paths = differing.map(({ path }) => path.join('.'))
  refuseIrreversible(entry, undoer, paths)
  const current = await undoer.load(context, entry.objectId)
  if (!current) throw cannot('The object was deleted since.', entry)
  const appEnvId = undoer.appEnvIdOf?.(current)
  if (appEnvId !== undefined) requireReach(target, appEnvId)
  const before = entry.before as Record<string, unknown>
  const result = reversal(differing, current, before, undoer.same?.(context, current))
  if (result.changedSince.length > 0) {
    throw cannot(
      `Changed again since: ${result.changedSince.map(fieldPath).join(', ')}. Undo the later change first.`,
      entry,
    )
  }
  const undone = result.paths.map(fieldPath)
  const { change, effect, wake } = await undoer.save(context, target, current, result.draft)
  return {
    answer: {
      message: `Undid ${entry.operation} of ${entry.at}. ${effect}`,
      objectType: entry.objectType,
      objectId: entry.objectId,
      undone,
    },
    change,
    effects: [`Puts back ${undone.join(', ')}.`, effect],
    foresee: async () => ({ effects: [], facts: { entry: shownEntry(entry) } }),
    ...(wake ? { wake } : {}),
  }
})

/** Which entry a dry run is about, as list-audit names it. */
function shownEntry({ entryId, at, operation, objectType, objectId }: StoredJournalEntry) {
  return { entryId, timestamp: at, operation, objectType, objectId }
}

function undoerOf(entry: StoredJournalEntry): Undoer {
  if (entry.outcome === 'refused') throw cannot('It was refused: there is nothing to undo.', entry)
  const undoer = undoers[entry.objectType]
  if (!undoer) throw cannot(`Changes of a ${entry.objectType} are not undone this way.`, entry)
  if (entry.before === null) throw cannot('It created the object: delete it instead.', entry)
  if (entry.after === null) throw cannot('It deleted the object, and what is deleted is gone.', entry)
  return undoer
}

function refuseIrreversible(entry: StoredJournalEntry, { fields }: Undoer, paths: readonly string[]): void {
  if (paths.length === 0) throw cannot('It changed nothing.', entry)
  const other = paths.filter(
    (path) => !fields.some((field) => path === field || path.startsWith(`${field}.`)),
  )
  if (other.length === 0) return
  const instead =
    entry.objectType === 'app-env'
      ? ' Use redeploy-app-env with an earlier version, start-app-env or stop-app-env.'
      : ''
  throw cannot(`It did more than change settings (${other.slice(0, 5).join(', ')}).${instead}`, entry)
}

function cannot(why: string, entry: StoredJournalEntry): AppError {
  return new AppError('invalid', 'This change cannot be undone', {
    details: `${entry.operation} of ${entry.at}: ${why} Nothing was changed.`,
  })
}
