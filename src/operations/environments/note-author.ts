import type { Environment, Settings } from '../../domain/environments/environment.ts'
import { pendingPaths } from '../../domain/environments/pending-changes.ts'
import { saveAuthors } from '../../store/repositories/pending-authors.ts'
import type { Context } from '../core/handler.ts'
import { userIdOrNull } from '../core/user-of.ts'

/** Records the caller as the author of what is saved differently than before, in case it is pending. */
export async function noteAuthor(
  { tx, now, caller }: Context,
  { appEnvId, saved }: Pick<Environment, 'appEnvId' | 'saved'>,
  before: Settings,
): Promise<void> {
  await saveAuthors(tx, appEnvId, pendingPaths(saved, before), { by: userIdOrNull(caller), at: now })
}
