import { resources } from '../../contract/resources.ts'
import { isRestricted, mayAccess } from '../../domain/access/environment-access.ts'
import type { Tx } from '../../store/db.ts'
import { findApp } from '../../store/repositories/apps.ts'
import type { StoredAuditEntry } from '../../store/repositories/audit.ts'
import type { AccountTarget } from '../core/access-targets.ts'
import { seesApp } from '../core/authorize.ts'
import { resourceOf, typeRecordedAs } from '../core/resources.ts'
import { accountWide } from '../core/visibility.ts'

/**
 * M2, M3: whether the caller can access the object of an entry. An entry whose environment can no longer be determined
 * is hidden from members with restricted access.
 */
export async function mayReadEntry(tx: Tx, target: AccountTarget, entry: StoredAuditEntry): Promise<boolean> {
  const { account, membership } = target
  if (!isRestricted(account, membership) || accountWide.has(entry.objectType)) return true
  if (entry.objectType === resources.app.auditName) {
    return (await findApp(tx, entry.objectId)) !== null && seesApp(tx, target, entry.objectId)
  }
  const appEnvId = await environmentOf(tx, entry)
  return appEnvId !== null && mayAccess(account, membership, appEnvId)
}

async function environmentOf(tx: Tx, entry: StoredAuditEntry): Promise<string | null> {
  const { objectType, objectId, before, after } = entry
  // A token in the audit log of an account is that of an environment, and recorded under the id of it.
  if (objectType === resources.environment.auditName || objectType === resources.token.auditName)
    return objectId
  const recorded = (after ?? before) as { appEnvId?: unknown } | null
  if (typeof recorded?.appEnvId === 'string') return recorded.appEnvId
  // A refused write records no values.
  const type = typeRecordedAs(objectType)
  return (type && (await resourceOf(type).find(tx, objectId))?.appEnvId) ?? null
}
