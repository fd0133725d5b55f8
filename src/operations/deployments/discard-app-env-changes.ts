import { discardAppEnvChanges } from '../../contract/app-env-actions.ts'
import { deepCopy } from '../../domain/deep-copy.ts'
import { pendingChangesOf, pendingFields } from '../../domain/environments/pending-changes.ts'
import { handler, noImpact } from '../core/handler.ts'
import { draftOf, saveChange } from '../environments/change-environment.ts'
import { environmentResponse, pendingOf, settingsInForce } from '../environments/responses.ts'

/** 3.3: makes the settings in force the saved settings. Running containers do not change. */
export default handler(discardAppEnvChanges, async (context, _input, target) => {
  const { environment } = target
  const inForce = await settingsInForce(context, environment)
  const fields = pendingFields(environment.saved, inForce)
  if (fields.length === 0) {
    return {
      answer: {
        ...environmentResponse(environment, 'Nothing is pending'),
        pendingChanges: pendingChangesOf(inForce, inForce),
      },
      impact: noImpact,
      effects: ['Nothing is pending.'],
    }
  }
  const draft = draftOf(environment)
  draft.saved = deepCopy(inForce)
  const change = await saveChange(context, target, draft)
  return {
    answer: {
      ...environmentResponse(draft, 'Pending changes discarded'),
      // A reference whose source changed since is pending again.
      pendingChanges: await pendingOf(context, draft),
    },
    change,
    impact: {},
    effects: [`Discards the pending changes of ${fields.join(', ')}. What runs stays as it is.`],
    wake: [draft.appEnvId],
  }
})
