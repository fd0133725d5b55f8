import { applyAppEnvChanges } from '../../contract/app-env-actions.ts'
import type { ImpactStatement } from '../../contract/impact.ts'
import { deepCopy } from '../../domain/deep-copy.ts'
import type { Content, Environment, Settings } from '../../domain/environments/environment.ts'
import { needsBuild, needsRollout, pendingFields } from '../../domain/environments/pending-changes.ts'
import { listActivities } from '../../store/repositories/activities.ts'
import { findContent, findRollout } from '../../store/repositories/rollouts.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type Context, handler, noImpact } from '../core/handler.ts'
import { draftOf, saveChange } from '../environments/change-environment.ts'
import { appliedOf, appliedText, rolloutImpact, scaleImpact } from '../environments/container-impact.ts'
import { noteActivity } from '../environments/note-activity.ts'
import { environmentResponse, settingsInForce } from '../environments/responses.ts'
import {
  heldResponse,
  heldText,
  requireComplete,
  settingsToDeploy,
} from '../environments/settings-to-deploy.ts'
import { beginRollout, changeWantedSettings } from './begin-rollout.ts'
import { builtAgain, withAppChanges } from './content-to-deploy.ts'

export default handler(applyAppEnvChanges, async (context, input, target) => {
  const { environment } = target
  const inForce = await settingsInForce(context, environment)
  const fields = pendingFields(environment.saved, inForce)
  if (fields.length === 0) {
    return {
      answer: {
        ...environmentResponse(environment, 'Nothing is pending'),
        appliedImmediately: true as const,
      },
      impact: noImpact,
      effects: ['Nothing is pending.'],
    }
  }
  const draft = draftOf(environment)
  const toDeploy = await settingsToDeploy(context, target, draft, input.includeChangesOf)
  const applied = pendingFields(toDeploy.settings, inForce)
  if (applied.length === 0) {
    const message = ['Nothing of yours is pending', ...heldText(toDeploy)].join('. ')
    return {
      answer: {
        ...environmentResponse(environment, message),
        appliedImmediately: true as const,
        ...heldResponse(toDeploy),
      },
      impact: noImpact,
      effects: [message],
    }
  }
  requireComplete(target, draft, toDeploy)
  const { message, impact } = await applySettings(context, target, draft, toDeploy.settings)
  const change = await saveChange(context, target, draft)
  return {
    answer: {
      ...environmentResponse(draft, [message, ...heldText(toDeploy)].join('. ')),
      appliedImmediately: true as const,
      ...heldResponse(toDeploy),
    },
    change,
    impact,
    effects: [`Applies ${applied.join(', ')}. ${message}.`, ...appliedText(impact), ...heldText(toDeploy)],
    wake: [draft.appEnvId],
  }
})

/** 3.3: builds if the build uses a changed setting, deploys if containers must get it, else only takes the snapshot. */
async function applySettings(
  context: Context,
  target: EnvironmentTarget,
  draft: Environment,
  settings: Settings,
): Promise<Applied> {
  const inForce = await settingsInForce(context, target.environment)
  const rolloutId = draft.wantedRolloutId ?? draft.currentRolloutId
  const rollout = rolloutId === null ? null : await findRollout(context.tx, rolloutId)
  const content = rollout && (await findContent(context.tx, rollout.contentId))
  const failed = rollout ? null : await failedContent(context, draft)
  if (failed) return deployFailedAgain(context, target, draft, { content: failed, settings })
  if (!content || draft.desiredState === 'stopped' || !needsRollout(settings, inForce)) {
    draft.applied = deepCopy(settings)
    await changeWantedSettings(context, draft, settings)
    await noteActivity(context, draft.appEnvId, {
      activity: 'APPLY_CHANGES',
      status: 'DONE',
      version: draft.currentVersion,
    })
    const variables = { appliedOf: await appliedOf(context, target.environment, settings) }
    return {
      message: appliedMessage(content !== null),
      impact: { ...(await scaleImpact(context, target, draft)), variables },
    }
  }
  const rebuilds = content.type === 'BUILD' && needsBuild(settings, inForce)
  const next = rebuilds ? await builtAgain(context, target.app, draft, content, settings) : content
  // Going back to the earlier version restores its settings; the same version has the new ones.
  const undo = rebuilds ? 'redeploy' : 'none'
  const impact = await rolloutImpact(context, target, ['deploy'], { settings, undo })
  await beginRollout(context, draft, next, { settings, activity: 'APPLY_CHANGES' })
  const message = rebuilds ? `Building version ${next.version} with the changes` : 'Rolling the changes out'
  return { message, impact }
}

interface Applied {
  message: string
  impact: ImpactStatement
}

/** The newest version, if no version has ever served because each failed; a person has not stopped it since. */
async function failedContent({ tx }: Context, draft: Environment): Promise<Content | null> {
  const { appEnvId, latestRolloutId, currentRolloutId } = draft
  if (latestRolloutId === null || currentRolloutId !== null) return null
  const latest = await findRollout(tx, latestRolloutId)
  const newest = await listActivities(tx, appEnvId, { limit: 1, offset: 0, from: null, to: null })
  if (latest?.status !== 'FAILED' || newest.activities[0]?.activity === 'STOP') return null
  return findContent(tx, latest.contentId)
}

/** There is no other version to apply the changes to, and the failed one may have lacked exactly them. */
async function deployFailedAgain(
  context: Context,
  target: EnvironmentTarget,
  draft: Environment,
  { content, settings }: { content: Content; settings: Settings },
): Promise<Applied> {
  const isBuilt = draft.region in content.images
  const rebuilds = content.type === 'BUILD' && isBuilt && needsBuild(settings, draft.applied)
  const next = rebuilds
    ? await builtAgain(context, target.app, draft, content, settings)
    : await withAppChanges(context, target.app, draft, content)
  const impact = await rolloutImpact(context, target, ['deploy'], { settings })
  await beginRollout(context, draft, next, { settings, activity: 'APPLY_CHANGES' })
  const message = `Deploying version ${next.version} again with the changes, because it failed and no other has served`
  return { message, impact }
}

/** For a stopped environment, or changes that no container sees. */
function appliedMessage(hasContent: boolean): string {
  return hasContent ? 'Changes applied' : 'Changes applied; the first deployment uses them'
}
