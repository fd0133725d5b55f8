import { counted } from '../../amounts.ts'
import { updateAppEnvVariables } from '../../contract/app-env-actions.ts'
import { changedVariables } from '../../domain/environments/variables.ts'
import { AppError } from '../../errors.ts'
import { handler } from '../core/handler.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { environmentResponse, pendingOf } from './responses.ts'
import { storeVariables } from './variable-references.ts'

const mostVariables = 500

export default handler(updateAppEnvVariables, async (context, input, target) => {
  const set = input.set ?? []
  const unset = input.unset ?? []
  if (set.length === 0 && unset.length === 0) {
    throw new AppError('invalid', 'set or unset is required', {
      details: 'Name at least one variable to set or unset.',
    })
  }
  const draft = draftOf(target.environment)
  const { saved } = draft
  const wanted = changedVariables(saved.envVars, set, unset)
  if (wanted.length > mostVariables) {
    throw new AppError('invalid', `An environment has at most ${mostVariables} variables`, {
      details: `This change would make ${wanted.length}. Unset some of them, in this call or before.`,
    })
  }
  saved.envVars = await storeVariables(context, target, draft, saved.envVars, wanted)
  const change = await saveChange(context, target, draft)
  const pendingChanges = await pendingOf(context, draft)
  return {
    answer: {
      ...environmentResponse(
        draft,
        `Saved ${set.length} and removed ${counted(new Set(unset).size, 'variable')}; apply-app-env-changes applies them`,
      ),
      pendingChanges,
    },
    change,
    impact: {},
    effects: ['Saved as pending changes; running containers keep the old values until apply.'],
    wake: [draft.appEnvId],
  }
})
