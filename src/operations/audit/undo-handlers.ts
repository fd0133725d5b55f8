import type { PolicyType } from '../../contract/resources.ts'
import { undoMembership } from '../access/undo-membership.ts'
import { undoAccount } from '../accounts/undo-account.ts'
import { undoAlert } from '../alerts/undo-alert.ts'
import { undoContactPoint } from '../alerts/undo-contact-point.ts'
import type { Located, StoredAs } from '../core/resources.ts'
import { undoEnvironment } from '../environments/undo-environment.ts'
import type { UndoHandler } from './undo-handler.ts'

/** How changes of each type are put back; a type without a row here cannot be undone. */
const handlers: { [T in PolicyType]?: UndoHandler<StoredAs<T>> } = {
  account: undoAccount,
  environment: undoEnvironment,
  member: undoMembership,
  'contact-point': undoContactPoint,
  alert: undoAlert,
}

/** A handler with its types erased. */
export function undoHandlerOf(type: PolicyType): UndoHandler<Located> | undefined {
  return handlers[type]
}
