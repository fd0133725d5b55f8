import { resources } from '../../contract/resources.ts'
import { mayAccess } from '../../domain/access/environment-access.ts'
import type { AccountTarget, EnvironmentTarget, Target } from './access-targets.ts'
import type { Change } from './handler.ts'

/** Objects of the account itself, and refused calls that named no object: any reader of the audit log sees them (M6). */
export const accountWide: ReadonlySet<string> = new Set([
  'installation',
  ...Object.values(resources).flatMap((row) => (row.in === 'account' ? [row.auditName] : [])),
])

const environmentIds = /\benv_[a-z2-7]{20}\b/g

/** M2: the text with the ids of environments that the caller may not see replaced, such as the source of a reference. */
export function hideEnvironments(
  { account, membership }: Pick<EnvironmentTarget, 'account' | 'membership'>,
  text: string,
  own?: string,
): string {
  const isVisible = (id: string) => id === own || (membership !== null && mayAccess(account, membership, id))
  return text.replace(environmentIds, (id) => (isVisible(id) ? id : 'hidden'))
}

/** A changed value of an entry. Entries of the account itself list environments for those who configure access (M6). */
export function shownText(
  target: AccountTarget,
  { objectType }: { objectType: string },
  text: string,
): string {
  return accountWide.has(objectType) ? text : hideEnvironments(target, text)
}

/** The same for the changes of a dry run. A target without an account, such as the caller's own tokens, names none. */
export function shownChanges<T>(
  { account, membership, environment }: Target & Partial<EnvironmentTarget>,
  { objectType, objectId }: Change,
  changes: T[],
): T[] {
  if (!account || membership === undefined || accountWide.has(objectType)) return changes
  // An environment token has no membership; a new environment is on no list yet.
  const own = environment?.appEnvId ?? objectId
  return JSON.parse(hideEnvironments({ account, membership }, JSON.stringify(changes), own))
}
