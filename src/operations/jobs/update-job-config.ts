import { updateJobConfig } from '../../contract/jobs.ts'
import { jobOnlyViolation } from '../../contract/rules.ts'
import { changedJobConfig, givenJobConfig, jobConfigWarnings } from '../../domain/jobs/config.ts'
import { AppError, rejectViolation } from '../../errors.ts'
import { findRollout, saveRollout } from '../../store/repositories/rollouts.ts'
import { handler } from '../core/handler.ts'
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
    draft.applied.jobConfig = structuredClone(draft.saved.jobConfig)
    const rollout =
      draft.wantedRolloutId === null ? null : await findRollout(context.tx, draft.wantedRolloutId)
    if (rollout) {
      // An unfinished rollout has its own snapshot, which becomes the applied one at the end.
      rollout.settings.jobConfig = structuredClone(draft.saved.jobConfig)
      await saveRollout(context.tx, rollout)
    }
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
    effects: [
      input.applyImmediately
        ? 'Applies from the next run; running runs keep their settings.'
        : 'Saved as pending; runs keep using the applied settings.',
      ...warnings,
    ],
    wake: [draft.appEnvId],
  }
})
