import { insertActivity } from '../../store/repositories/activities.ts'
import type { Context } from '../core/handler.ts'
import { userIdOrNull } from '../core/user-of.ts'

/** Adds an entry to the history of an environment, by the user who calls. */
export async function noteActivity(
  context: Context,
  appEnvId: string,
  what: {
    activity: string
    status: string
    contentId?: string | null
    version?: number | null
    gitCommitId?: string | null
    details?: string | null
  },
): Promise<void> {
  await insertActivity(context.tx, appEnvId, {
    activity: what.activity,
    contentId: what.contentId ?? null,
    version: what.version ?? null,
    status: what.status,
    timestamp: context.now,
    userId: userIdOrNull(context.caller),
    gitCommitId: what.gitCommitId ?? null,
    details: what.details ?? null,
  })
}
