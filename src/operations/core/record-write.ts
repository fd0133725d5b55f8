import type { Impact } from '../../contract/impact.ts'
import { insertAuditEntry } from '../../store/repositories/audit.ts'
import type { Call } from './call.ts'
import type { Change, Context } from './handler.ts'
import { recorded } from './recorded.ts'
import { originOf } from './refusal-audit.ts'

/** The audit entries of a write, or of a read that shows secrets: one for each change; the first has the impact. */
export async function recordWrite(
  context: Context,
  call: Call,
  change: Change | undefined,
  impact: Impact,
): Promise<void> {
  if (!change) return
  await recordChange(context, call, change, impact)
  for (const one of change.alsoChanged ?? []) await recordChange(context, call, one, null)
}

async function recordChange(
  { tx, now, caller, secrets }: Context,
  call: Call,
  change: Change,
  impact: Impact | null,
): Promise<void> {
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
    impact,
    ...recorded(change.before, change.after),
  }
  await insertAuditEntry(tx, entry, secrets)
}
