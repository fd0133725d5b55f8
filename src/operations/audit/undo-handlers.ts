import type { PolicyType } from '../../contract/resources.ts'
import { type Difference, differences } from '../../domain/access/undo.ts'
import { undoMembership } from '../access/undo-membership.ts'
import { undoAccount } from '../accounts/undo-account.ts'
import { undoAlert } from '../alerts/undo-alert.ts'
import { undoContactPoint } from '../alerts/undo-contact-point.ts'
import { undoApp } from '../apps/undo-app.ts'
import type { Change } from '../core/handler.ts'
import { type Located, type StoredAs, typeRecordedAs } from '../core/resources.ts'
import { undoEnvironment } from '../environments/undo-environment.ts'
import { undoRemediation } from '../remediation/undo-remediation.ts'
import type { UndoHandler } from './undo-handler.ts'

/** How changes of each type are put back; a type without a row here cannot be undone. */
const handlers: { [T in PolicyType]?: UndoHandler<StoredAs<T>> } = {
  account: undoAccount,
  app: undoApp,
  environment: undoEnvironment,
  member: undoMembership,
  'contact-point': undoContactPoint,
  alert: undoAlert,
  remediation: undoRemediation,
}

/** The handler of objects that the audit log records under this name, with its types erased. */
export function undoHandlerOf(auditName: string): UndoHandler<Located> | undefined {
  const type = typeRecordedAs(auditName)
  return type ? handlers[type] : undefined
}

/** The handler for entries of an operation. */
export function forOperation(undo: UndoHandler<Located>, operation: string): UndoHandler<Located> {
  const own = undo.ofOperation?.[operation]
  if (!own) return undo
  return { ...undo, fields: [...undo.fields, ...own.fields], follows: { ...undo.follows, ...own.follows } }
}

/** Whether undo-change can put back a change right after it. */
export function isUndoable({ objectType, before, after }: Change): boolean {
  const undo = undoHandlerOf(objectType)
  if (!undo || before === null || after === null) return false
  const paths = changedPaths(undo, before, after).map(({ path }) => path.join('.'))
  return paths.length > 0 && irreversiblePaths(undo, paths).length === 0
}

/** What an undo would put back, without the fields that follow from it. */
export function changedPaths(
  { follows = {} }: UndoHandler<Located>,
  before: unknown,
  after: unknown,
): Difference[] {
  const differing = differences(before, after)
  const followers = differing.flatMap(({ path }) => follows[path.join('.')] ?? [])
  return differing.filter(({ path }) => !followers.includes(path.join('.')))
}

export function irreversiblePaths({ fields }: UndoHandler<Located>, paths: readonly string[]): string[] {
  return paths.filter((path) => !fields.some((field) => path === field || path.startsWith(`${field}.`)))
}
