import { isDeepStrictEqual } from 'node:util'
import type { StoredRemediation } from '../../domain/remediation/remediation.ts'
import { saveRemediation } from '../../store/repositories/remediations.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import type { Change, Context } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'
import { checkReferences } from './check-steps.ts'
import { requireOwnSteps } from './own-steps.ts'

/** What decides over the effects of its runs: who changes one of them vouches for all. */
const deciding = ['trigger', 'mode', 'steps', 'verify', 'onFailure', 'atMost', 'minSamples'] as const

/** Saves the next revision, or the first one if there is none before. */
export async function saveRemediationChange(
  context: Context,
  target: EnvironmentTarget,
  before: StoredRemediation,
  changes: Partial<StoredRemediation>,
): Promise<{ remediation: StoredRemediation; change: Change }> {
  const draft = { ...before, ...changes, updatedAt: context.now, revision: before.revision + 1 }
  const remediation = await checked(context, target, before, draft)
  const isOtherTrigger = !isDeepStrictEqual(before.trigger, remediation.trigger)
  await saveRemediation(context.tx, remediation, { isOtherTrigger })
  return { remediation, change: remediationChange(before, remediation) }
}

/** The draft, in the name of the caller if it decides over effects. */
export async function checked(
  context: Context,
  target: EnvironmentTarget,
  before: StoredRemediation | null,
  draft: StoredRemediation,
): Promise<StoredRemediation> {
  const isOff = draft.mode === 'off' && before !== null
  const decides = before === null || deciding.some((field) => !isDeepStrictEqual(before[field], draft[field]))
  const onlyTurnsOff =
    isOff && deciding.every((field) => field === 'mode' || isDeepStrictEqual(before[field], draft[field]))
  // Turning it off needs nothing that exists.
  if (onlyTurnsOff) return draft
  await checkReferences(context, target, draft)
  if (!decides) return draft
  await requireOwnSteps(context, target.environment, draft)
  return { ...draft, actsFor: userOf(context.caller) }
}

export function remediationChange(before: StoredRemediation | null, after: StoredRemediation | null): Change {
  const { remediationId, accountId } = (after ?? before) as StoredRemediation
  return { objectType: 'remediation', objectId: remediationId, accountId, before, after }
}
