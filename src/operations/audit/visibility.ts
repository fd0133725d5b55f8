import { resources } from '../../contract/resources.ts'
import { isRestricted, mayAccess } from '../../domain/access/environment-access.ts'
import type { Tx } from '../../store/db.ts'
import { findApp } from '../../store/repositories/apps.ts'
import type { StoredAuditEntry } from '../../store/repositories/audit.ts'
import type { AccountTarget, EnvironmentTarget } from '../core/access-targets.ts'
import { seesApp } from '../core/authorize.ts'
import { resourceOf, typeRecordedAs } from '../core/resources.ts'

/** Objects of the account itself, and refused calls that named no object: any reader of the audit log sees them (M6). */
const accountWide = new Set<string>([
  'installation',
  ...Object.values(resources).flatMap((row) => (row.in === 'account' ? [row.auditName] : [])),
])

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

const environmentIds = /\benv_[a-z2-7]{20}\b/g

/** M2: the text with the ids of environments that the caller may not see replaced, such as the source of a reference. */
export function hideEnvironments(
  { account, membership }: Pick<EnvironmentTarget, 'account' | 'membership'>,
  text: string,
): string {
  const isVisible = (id: string) => membership !== null && mayAccess(account, membership, id)
  return text.replace(environmentIds, (id) => (isVisible(id) ? id : 'hidden'))
}

/** A changed value of an entry. Entries of the account itself list environments for those who configure access (M6). */
export function shownText(target: AccountTarget, { objectType }: StoredAuditEntry, text: string): string {
  return accountWide.has(objectType) ? text : hideEnvironments(target, text)
}
