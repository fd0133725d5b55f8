import { applyAppEnvChanges } from '../../contract/app-env-actions.ts'
import { deepCopy } from '../../domain/deep-copy.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import { needsBuild, needsRollout, pendingFields } from '../../domain/environments/pending-changes.ts'
import { findContent, findRollout } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type Context, handler } from '../core/handler.ts'
import { draftOf, saveChange } from '../environments/change-environment.ts'
import { environmentResponse, settingsInForce } from '../environments/responses.ts'
import { beginRollout, changeWantedSettings, noteActivity } from './begin-rollout.ts'
import { builtAgain } from './content-to-deploy.ts'

export default handler(applyAppEnvChanges, async (context, _input, target) => {
  const { environment } = target
  const inForce = await settingsInForce(context, environment)
  const fields = pendingFields(environment.saved, inForce)
  if (fields.length === 0) {
    return {
      answer: {
        ...environmentResponse(environment, 'Nothing is pending'),
        appliedImmediately: true as const,
      },
      effects: ['Nothing is pending.'],
    }
  }
  const draft = draftOf(environment)
  const message = await applySaved(context, target, draft)
  const change = await saveChange(context, target, draft)
  return {
    answer: { ...environmentResponse(draft, message), appliedImmediately: true as const },
    change,
    effects: [`Applies ${fields.join(', ')}. ${message}.`],
    wake: [draft.appEnvId],
  }
})

/** 3.3: builds when the build sees the change, deploys when containers must see it, else only takes the snapshot. */
async function applySaved(context: Context, target: EnvironmentTarget, draft: Environment): Promise<string> {
  const inForce = await settingsInForce(context, target.environment)
  const rolloutId = draft.wantedRolloutId ?? draft.currentRolloutId
  const rollout = rolloutId === null ? null : await findRollout(context.tx, rolloutId)
  const content = rollout && (await findContent(context.tx, rollout.contentId))
  if (!content || draft.desiredState === 'stopped' || !needsRollout(draft.saved, inForce)) {
    draft.applied = deepCopy(draft.saved)
    await changeWantedSettings(context, draft, draft.saved)
    await noteActivity(context, draft.appEnvId, {
      activity: 'APPLY_CHANGES',
      status: 'DONE',
      version: draft.currentVersion,
    })
    return appliedMessage(context, target.environment, content !== null)
  }
  const rebuilds = content.type === 'BUILD' && needsBuild(draft.saved, inForce)
  const next = rebuilds ? await builtAgain(context, draft, content, draft.saved) : content
  await beginRollout(context, draft, next, { settings: draft.saved, activity: 'APPLY_CHANGES' })
  return rebuilds ? `Building version ${next.version} with the changes` : 'Rolling the changes out'
}

/** For a stopped environment, or changes that no container sees. */
async function appliedMessage(
  { tx }: Context,
  { latestRolloutId }: Environment,
  hasContent: boolean,
): Promise<string> {
  if (hasContent) return 'Changes applied'
  const latest = latestRolloutId === null ? null : await findRollout(tx, latestRolloutId)
  if (!latest?.failure) return 'Changes applied; the first deployment uses them'
  return `Changes applied, and nothing runs: version ${latest.version} failed (${latest.failure.reason}). The next deployment uses the changes; diagnose-app-env says what to correct first`
}
