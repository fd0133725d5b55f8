import { stopAppEnv } from '../contract/app-env-actions.ts'
import { listActiveJobRuns } from '../store/job-runs.ts'
import { cancelRollout, noteActivity } from './begin-rollout.ts'
import { cancelRun } from './cancel-job-run.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { acted } from './environment-answers.ts'
import { handler } from './handler.ts'

export default handler(stopAppEnv, async (context, _input, target) => {
  const { environment } = target
  if (environment.wish === 'stopped') {
    return {
      answer: acted(environment, 'The environment is stopped already'),
      effects: ['Nothing: it is stopped already.'],
    }
  }
  const draft = draftOf(environment)
  await cancelRollout(context, draft)
  for (const run of await listActiveJobRuns(context.tx, draft.appEnvId)) await cancelRun(context, run)
  draft.wish = 'stopped'
  draft.status = 'STOPPED'
  await noteActivity(context, draft.appEnvId, {
    activity: 'STOP',
    status: 'DONE',
    version: draft.currentVersion,
  })
  const change = await saveChange(context, target, draft)
  return {
    answer: acted(draft, 'The environment stops; start-app-env brings it back'),
    change,
    effects: ['Every container ends after its requests in flight; nothing answers until start-app-env.'],
    wake: [draft.appEnvId],
  }
})
