import { releaseAppEnv } from '../../contract/claims.ts'
import { deleteClaim, findClaim } from '../../store/repositories/claims.ts'
import { checkClaims, claimShown } from '../core/claim-check.ts'
import { handler } from '../core/handler.ts'

export default handler(releaseAppEnv, async (context, _input, { environment }) => {
  const { tx, now } = context
  const { appEnvId, accountId } = environment
  await checkClaims(context, [appEnvId])
  const before = await findClaim(tx, appEnvId, now)
  await deleteClaim(tx, appEnvId)
  return {
    answer: { message: before === null ? 'The environment was not claimed' : 'The claim is released' },
    change: {
      objectType: 'app-env',
      objectId: appEnvId,
      accountId,
      before: { claim: claimShown(before) },
      after: { claim: null },
    },
    impact: { actions: [before === null ? 'none' : 'change-settings'], undo: 'none' },
    effects: before === null ? ['Nothing is claimed.'] : ['Other agents may write again.'],
  }
})
