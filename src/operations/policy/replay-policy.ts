import { timestamp } from '../../clock.ts'
import type { OutputOf } from '../../contract/operation.ts'
import { replayPolicy } from '../../contract/policy.ts'
import { chargesOf, type Usage, withUnits } from '../../domain/policy/budgets.ts'
import { type PolicyCall, successKey } from '../../domain/policy/call.ts'
import { type CompiledPolicy, compilePolicy, decide } from '../../domain/policy/decide.ts'
import type { Tx } from '../../store/db.ts'
import { type DecidedWrite, listDecidedWrites } from '../../store/repositories/audit.ts'
import { lastSuccess } from '../../store/repositories/successes.ts'
import { handler } from '../core/handler.ts'

const weekMs = 7 * 24 * 3_600_000
const mostWrites = 10_000
const mostShown = 200

type Replay = OutputOf<typeof replayPolicy>

/** Decides each audited write of the past with the code that decides writes, in their order, with budgets from zero. */
export default handler(replayPolicy, async ({ tx, now }, input, { policy: stored }) => {
  const to = timestamp(Date.parse(input.to ?? now))
  const from = timestamp(Date.parse(input.from ?? timestamp(Date.parse(to) - weekMs)))
  const { accountId } = stored
  const policy = compilePolicy(input.policy ?? stored.content)
  const found = await listDecidedWrites(tx, { accountId, from, to, limit: mostWrites + 1 })
  const writes = found.slice(-mostWrites)
  const usage = new Map<string, Usage>()
  const answer: Replay = {
    ...{ from, to, writes: writes.length, skipped: 0 },
    effects: { allow: 0, ask: 0, deny: 0 },
    truncated: found.length > mostWrites,
    entries: [],
  }
  for (const write of writes) {
    const call = await callOf(tx, policy, accountId, write)
    if (call === null) {
      answer.skipped += 1
      continue
    }
    const { effect, ruleId, message } = decide(policy, call, (key) => usage.get(key) ?? {})
    answer.effects[effect] += 1
    if (effect !== 'deny') spend(policy, call, usage)
    if (effect === 'allow' || answer.entries.length >= mostShown) continue
    const { entryId, at, operation, objectId, agent, decision } = write
    const { kind: caller } = decision!
    answer.entries.push({
      entryId,
      timestamp: at,
      operation,
      objectId,
      caller,
      agent,
      effect,
      ruleId,
      message,
    })
  }
  return { answer, impact: { actions: ['none'] } }
})

/** The call of an audited write; null for one of a version that did not keep what policies decide over. */
async function callOf(
  tx: Tx,
  { after }: CompiledPolicy,
  accountId: string,
  { at, operation, tokenId, agent, surface, impact, decision }: DecidedWrite,
): Promise<PolicyCall | null> {
  if (impact === null || decision === null) return null
  const { kind, userId, membershipId, agentKey, environments, isStopSwitch } = decision
  const succeeded: Record<string, string> = {}
  for (const wanted of after)
    for (const { appEnvId } of environments) {
      const last = await lastSuccess(tx, { operation: wanted, appEnvId, until: at })
      if (last !== null) succeeded[successKey(wanted, appEnvId)] = last
    }
  const caller = { kind, userId, membershipId, tokenId, agent, agentKey, surface }
  return {
    at,
    accountId,
    operation,
    caller,
    environments,
    impact,
    ...(isStopSwitch && { isStopSwitch }),
    succeeded,
  }
}

function spend({ content }: CompiledPolicy, call: PolicyCall, usage: Map<string, Usage>): void {
  for (const { budget, key, units } of chargesOf(content.budgets, call))
    usage.set(key, withUnits(budget, usage.get(key) ?? {}, { at: call.at, units }))
}
