import { AppError } from '../../errors.ts'
import { findClaim, type StoredClaim } from '../../store/repositories/claims.ts'
import type { Context } from './handler.ts'
import { agentKeyOf } from './policy-facts.ts'

/**
 * Refuses the write of an agent on an environment that somebody else claimed. People go on; the result is a sentence about
 * each claim for them.
 */
export async function checkClaims(
  { tx, now, caller }: Context,
  appEnvIds: readonly string[],
): Promise<string[]> {
  if (caller.actor === 'environment') return []
  const own = agentKeyOf(caller)
  const sentences: string[] = []
  for (const appEnvId of appEnvIds) {
    const claim = await findClaim(tx, appEnvId, now)
    if (claim === null || (own !== null && claim.agentKey === own)) continue
    if (caller.actor !== 'person') throw claimed(claim)
    if (claim.agentKey !== null) sentences.push(sentenceOf(claim))
  }
  return sentences
}

function claimed(claim: StoredClaim): AppError {
  return new AppError('conflict', 'Environment is claimed', {
    details: `${sentenceOf(claim)} Wait until then, or ask a person.`,
    rule: 'claimed-environment',
  })
}

function sentenceOf({ appEnvId, agent, by, until, intent }: StoredClaim): string {
  const who = agent === null ? `the user ${by}` : `the agent ${JSON.stringify(agent)} of the user ${by}`
  return `${appEnvId} is claimed by ${who} until ${until}, for ${JSON.stringify(intent)}.`
}

export function claimShown(claim: StoredClaim | null) {
  if (claim === null) return null
  const { by, agent, intent, until } = claim
  return { by, agent, intent, until }
}
