import { undoChange } from '../../contract/audit.ts'
import { fieldNames, fieldPath, reversal } from '../../domain/access/undo.ts'
import { AppError } from '../../errors.ts'
import type { StoredAuditEntry } from '../../store/repositories/audit.ts'
import { requireAccess, restricted } from '../core/authorize.ts'
import { handler } from '../core/handler.ts'
import { type Located, resourceOf, typeRecordedAs } from '../core/resources.ts'
import type { UndoHandler } from './undo-handler.ts'
import { changedPaths, forOperation, irreversiblePaths, undoHandlerOf } from './undo-handlers.ts'
import { mayReadEntry } from './visibility.ts'

/**
 * Restores the fields that one entry changed. Rejected when the change is irreversible, or when the same fields changed
 * again since, so that an undo never overwrites a newer change.
 */
export default handler(undoChange, async (context, _input, target) => {
  const { entry } = target
  if (!(await mayReadEntry(context.tx, target, entry))) throw restricted('audit-entry')
  const { find, undo } = undoableOf(entry)
  const differing = changedPaths(undo, entry.before, entry.after)
  const paths = differing.map(({ path }) => path.join('.'))
  refuseIrreversible(entry, undo, paths)
  const current = (await find(context.tx, entry.objectId)) as (Located & Record<string, unknown>) | null
  if (!current) throw cannot('The object has been deleted.', entry)
  if (current.appEnvId !== undefined) requireAccess(target, current.appEnvId)
  const before = entry.before as Record<string, unknown>
  const result = reversal(differing, current, before, undo.same?.(context, current))
  if (result.changedSince.length > 0) {
    throw cannot(
      `Fields changed again since: ${fieldNames(result.changedSince)}. Undo the later change first.`,
      entry,
    )
  }
  const undone = result.paths.map(fieldPath)
  const { change, impact, effect, wake } = await undo.save(
    context,
    target,
    current,
    result.draft as typeof current,
  )
  return {
    answer: {
      message: `Undid ${entry.operation} of ${entry.at}. ${effect}`,
      objectType: entry.objectType,
      objectId: entry.objectId,
      undone,
    },
    change: { ...change, undid: entry.entryId },
    impact: { environments: current.appEnvId === undefined ? [] : [current.appEnvId], ...impact },
    effects: [`Puts back ${fieldNames(result.paths)}.`, effect],
    preview: async () => ({ effects: [], facts: { entry: shownEntry(entry, current) } }),
    ...(wake ? { wake } : {}),
  }
})

/** The entry that a dry run is about, as list-audit names it, with the name of its object: a cliEnvName if it has one. */
function shownEntry(entry: StoredAuditEntry, current: Record<string, unknown>) {
  const { entryId, at, operation, objectType, objectId } = entry
  const objectName = String(current.cliEnvName ?? current.name ?? objectId)
  return { entryId, timestamp: at, operation, objectType, objectId, objectName }
}

function undoableOf(entry: StoredAuditEntry) {
  if (entry.outcome === 'refused') throw cannot('The call was rejected, so there is nothing to undo.', entry)
  const type = typeRecordedAs(entry.objectType)
  const undo = undoHandlerOf(entry.objectType)
  if (!type || !undo) throw cannot(`Changes of type ${entry.objectType} cannot be undone.`, entry)
  if (entry.before === null) throw cannot('It created the object. Delete the object instead.', entry)
  if (entry.after === null) throw cannot('It deleted the object, and deletions are permanent.', entry)
  return { find: resourceOf(type).find, undo: forOperation(undo, entry.operation) }
}

function refuseIrreversible(
  entry: StoredAuditEntry,
  undo: UndoHandler<Located>,
  paths: readonly string[],
): void {
  if (paths.length === 0) throw cannot('It changed nothing.', entry)
  const other = irreversiblePaths(undo, paths)
  if (other.length === 0) return
  const instead =
    entry.objectType === 'app-env'
      ? ' Use redeploy-app-env with an earlier version, start-app-env or stop-app-env.'
      : ''
  throw cannot(`It changed more than settings (${fieldNames(other.slice(0, 5))}).${instead}`, entry)
}

function cannot(why: string, entry: StoredAuditEntry): AppError {
  return new AppError('invalid', 'This change cannot be undone', {
    details: `${entry.operation} of ${entry.at}: ${why} Nothing was changed.`,
  })
}
