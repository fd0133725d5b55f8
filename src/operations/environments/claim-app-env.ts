import { timestamp } from '../../clock.ts'
import { claimAppEnv } from '../../contract/claims.ts'
import { findClaim, saveClaim } from '../../store/repositories/claims.ts'
import { checkClaims, claimShown } from '../core/claim-check.ts'
import { handler } from '../core/handler.ts'
import { agentKeyOf } from '../core/policy-facts.ts'
import { userIdOrNull } from '../core/user-of.ts'

/** The claim of another agent refuses this one as it refuses every write; a person takes it over. */
export default handler(claimAppEnv, async (context, { intent, seconds }, { environment }) => {
  const { tx, now, caller } = context
  const { appEnvId, accountId } = environment
  await checkClaims(context, [appEnvId])
  const before = await findClaim(tx, appEnvId, now)
  const claim = {
    appEnvId,
    by: userIdOrNull(caller),
    agent: caller.actor === 'agent' ? (caller.token.agent ?? context.agent ?? caller.token.name) : null,
    agentKey: agentKeyOf(caller),
    intent,
    until: timestamp(Date.parse(now) + seconds * 1_000),
  }
  await saveClaim(tx, claim, now)
  return {
    answer: { appEnvId, claim: claimShown(claim)! },
    change: {
      objectType: 'app-env',
      objectId: appEnvId,
      accountId,
      before: { claim: claimShown(before) },
      after: { claim: claimShown(claim) },
    },
    impact: { actions: ['change-settings'], undo: 'none' },
    effects: [`Writes of other agents are refused until ${claim.until}; people can go on.`],
  }
})
