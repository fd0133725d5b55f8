import type { Impact } from '../../contract/impact.ts'
import { type DecisionRecord, decisionRecordOf } from '../../domain/policy/call.ts'
import { decisionShown } from '../../domain/policy/decide.ts'
import { insertAuditEntry } from '../../store/repositories/audit.ts'
import type { Call } from './call.ts'
import type { Change, Context } from './handler.ts'
import { originOf } from './origin.ts'
import { recorded } from './recorded.ts'
import type { Ruling } from './ruling.ts'

/**
 * The audit entries of a write, or of a read that shows secrets: one for each change; the first has the impact. Resolves to
 * the id of the first; null if nothing changed.
 */
export async function recordWrite(
  context: Context,
  call: Call,
  change: Change | undefined,
  { facts, shown, warnings }: Ruling,
): Promise<string | null> {
  if (!change) return null
  const decision = decisionRecordOf(facts, shown && decisionShown(shown), warnings)
  const entryId = await recordChange(context, call, change, { impact: facts.impact, decision })
  for (const one of change.alsoChanged ?? []) await recordChange(context, call, one, { impact: null })
  return entryId
}

async function recordChange(
  { tx, now, caller, secrets }: Context,
  call: Call,
  change: Change,
  decided: { impact: Impact | null; decision?: DecisionRecord },
): Promise<string> {
  const entry = {
    at: now,
    accountId: change.accountId,
    principal: caller.principal,
    ...originOf(caller, call),
    operation: call.operation.id,
    objectType: change.objectType,
    objectId: change.objectId,
    outcome: 'done' as const,
    undid: change.undid ?? null,
    ...decided,
    ...recorded(change.before, change.after),
  }
  return insertAuditEntry(tx, entry, secrets)
}
