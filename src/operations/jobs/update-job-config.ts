import { updateJobConfig } from '../../contract/jobs.ts'
import { jobOnlyViolation } from '../../contract/rules.ts'
import type { Settings } from '../../domain/environments/environment.ts'
import { changedJobConfig, givenJobConfig, jobConfigWarnings } from '../../domain/jobs/config.ts'
import { AppError, rejectViolation } from '../../errors.ts'
import { handler } from '../core/handler.ts'
import { changeWantedSettings } from '../deployments/begin-rollout.ts'
import { draftOf, saveChange } from '../environments/change-environment.ts'
import { noteActivity } from '../environments/note-activity.ts'
import { pendingOf } from '../environments/responses.ts'

export default handler(updateJobConfig, async (context, input, target) => {
  const { app } = target
  if (input.applyImmediately && context.caller.kind === 'environment') {
    throw new AppError('forbidden', 'applyImmediately needs a user token', {
      details: 'An environment token may only save pending changes: omit applyImmediately.',
      rule: 'X4',
    })
  }
  rejectViolation(jobOnlyViolation(app, 'job settings'))
  const given = givenJobConfig(input.jobConfig, input, input.clear ?? [])
  const draft = draftOf(target.environment)
  draft.saved.jobConfig = changedJobConfig(draft.saved.jobConfig, given, input.clear)
  if (input.applyImmediately) {
    // Other fields may be pending, and stay so.
    const changed = ({ jobConfig }: Settings) => ({
      jobConfig: changedJobConfig(jobConfig, given, input.clear),
    })
    draft.applied = { ...draft.applied, ...changed(draft.applied) }
    await changeWantedSettings(context, draft, changed)
    await noteActivity(context, draft.appEnvId, {
      activity: 'JOB_CONFIG',
      status: 'DONE',
      version: draft.currentVersion,
    })
  }
  const change = await saveChange(context, target, draft)
  const warnings = jobConfigWarnings(app.jobConfig, draft.saved.jobConfig)
  return {
    answer: {
      success: true as const,
      appEnv: { appEnvId: draft.appEnvId, pendingChanges: await pendingOf(context, draft) },
      jobConfig: draft.saved.jobConfig,
      appliedImmediately: input.applyImmediately,
      ...(warnings.length > 0 && { warnings }),
    },
    change,
    impact: {},
    effects: [
      input.applyImmediately
        ? 'Applies from the next run; running runs keep their settings.'
        : 'Saved as pending; runs keep using the applied settings.',
      ...warnings,
    ],
    wake: [draft.appEnvId],
  }
})
