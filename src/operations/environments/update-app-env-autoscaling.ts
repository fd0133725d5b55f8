import { updateAppEnvAutoscaling } from '../../contract/app-env-actions.ts'
import { scalingViolation } from '../../contract/rules.ts'
import { checkAutoscaling } from '../../domain/apps/autoscaling-settings.ts'
import { checkVolumeContainers } from '../../domain/environments/volume.ts'
import { AppError, rejectViolation } from '../../errors.ts'
import { handler } from '../core/handler.ts'
import { changeWantedSettings } from '../deployments/begin-rollout.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { scaleImpact } from './container-impact.ts'
import { noteActivity } from './note-activity.ts'
import { environmentResponse } from './responses.ts'

export default handler(updateAppEnvAutoscaling, async (context, input, target) => {
  const { app, account } = target
  rejectViolation(scalingViolation(app, 'autoscaling'))
  const { appEnvId: _id, envName: _name, expectedRevision: _revision, ...given } = input
  if (given.enabled && !account.settings.allowAutoScaling) {
    throw new AppError('invalid', 'Autoscaling is off for this account', {
      details: "The account's allowAutoScaling is false; an admin can change it.",
    })
  }
  const draft = draftOf(target.environment)
  draft.autoscaling = { ...draft.autoscaling, ...given }
  checkAutoscaling(draft.autoscaling)
  checkVolumeContainers(draft)
  if (draft.autoscaling.enabled) {
    const { minContainers, maxContainers } = draft.autoscaling
    const containers = Math.min(Math.max(draft.saved.containers, minContainers), maxContainers)
    draft.saved.containers = containers
    draft.applied.containers = containers
    await changeWantedSettings(context, draft, { containers })
  }
  await noteActivity(context, draft.appEnvId, {
    activity: 'AUTOSCALING',
    status: 'DONE',
    version: draft.currentVersion,
  })
  const change = await saveChange(context, target, draft)
  const state = draft.autoscaling.enabled ? 'on' : 'off'
  return {
    answer: { ...environmentResponse(draft, `Autoscaling is ${state}`), autoscaling: draft.autoscaling },
    change,
    impact: await scaleImpact(context, target, draft),
    effects: [
      `Autoscaling ${state}, ${draft.autoscaling.minContainers} to ${draft.autoscaling.maxContainers} containers.`,
    ],
    wake: [draft.appEnvId],
  }
})
