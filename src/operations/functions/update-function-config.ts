import { updateFunctionConfig } from '../../contract/app-env-actions.ts'
import { functionOnlyViolation } from '../../contract/rules.ts'
import type { Settings } from '../../domain/environments/environment.ts'
import { checkFunctionConfig, effectiveFunctionConfig } from '../../domain/functions/config.ts'
import { rejectViolation } from '../../errors.ts'
import { handler } from '../core/handler.ts'
import { changeWantedSettings } from '../deployments/begin-rollout.ts'
import { draftOf, saveChange } from '../environments/change-environment.ts'
import { scaleImpact } from '../environments/container-impact.ts'
import { noteActivity } from '../environments/note-activity.ts'

export default handler(updateFunctionConfig, async (context, input, target) => {
  const { app, account } = target
  rejectViolation(functionOnlyViolation(app, 'update-function-config'))
  const { appEnvId: _id, envName: _name, applyImmediately, expectedRevision: _revision, ...given } = input
  const draft = draftOf(target.environment)
  draft.saved.functionConfig = { ...draft.saved.functionConfig, ...given }
  checkFunctionConfig(draft.saved.functionConfig, account.settings)
  if (applyImmediately) {
    // Other fields may be pending, and stay so.
    const changed = ({ functionConfig }: Settings) => ({ functionConfig: { ...functionConfig, ...given } })
    draft.applied = { ...draft.applied, ...changed(draft.applied) }
    checkFunctionConfig(draft.applied.functionConfig, account.settings)
    await changeWantedSettings(context, draft, changed)
    await noteActivity(context, draft.appEnvId, {
      activity: 'FUNCTION_CONFIG',
      status: 'DONE',
      version: draft.currentVersion,
    })
  }
  const change = await saveChange(context, target, draft)
  const { appEnvId, name, status } = draft
  const functionConfig = effectiveFunctionConfig(draft.saved.functionConfig, account.settings)
  return {
    answer: {
      success: true as const,
      appEnv: { appEnvId, name, status, isFunction: true as const, functionConfig },
      appliedImmediately: applyImmediately,
    },
    change,
    impact: await scaleImpact(context, target, draft),
    effects: [applyImmediately ? 'Takes effect immediately; no container is replaced.' : 'Saved as pending.'],
    wake: [appEnvId],
  }
})
