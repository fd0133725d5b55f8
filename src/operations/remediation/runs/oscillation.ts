import { timestamp } from '../../../clock.ts'
import type { StoredRemediation, StoredRun } from '../../../domain/remediation/remediation.ts'
import { insertAuditEntry } from '../../../store/repositories/audit.ts'
import { listRunsThatActed } from '../../../store/repositories/remediation-runs.ts'
import { saveRemediation } from '../../../store/repositories/remediations.ts'
import type { Context } from '../../core/handler.ts'
import { recorded } from '../../core/recorded.ts'

const dayMs = 86_400_000

/** The reason of the run: with a second undo within a day, the remediation asks from now on. */
export async function turnToAskIfOscillating(
  context: Context,
  run: StoredRun,
  remediation: StoredRemediation,
): Promise<string> {
  if (remediation.mode !== 'auto') return run.reason
  const { tx, now, secrets, caller } = context
  const runs = await listRunsThatActed(tx, run.remediationId, timestamp(Date.parse(now) - dayMs))
  const earlier = runs.filter(({ runId, status }) => runId !== run.runId && status === 'undone')
  if (earlier.length === 0) return run.reason
  const { remediationId, accountId, revision } = remediation
  const after = {
    ...remediation,
    mode: 'ask' as const,
    modeBefore: 'ask' as const,
    updatedAt: now,
    revision: revision + 1,
  }
  await saveRemediation(tx, after)
  const none = { tokenId: null, sessionId: null, traceId: null, clientAddress: null, agent: null }
  await insertAuditEntry(
    tx,
    {
      ...{ ...none, confirmedBy: null, undid: null, approvalId: null, chat: null, impact: null },
      at: now,
      accountId,
      principal: caller.principal,
      surface: context.surface,
      remediationRunId: run.runId,
      operation: 'update-remediation',
      objectType: 'remediation',
      objectId: remediationId,
      outcome: 'done',
      ...recorded(remediation, after),
    },
    secrets,
  )
  return `${run.reason} It was undone twice within a day, so the remediation asks from now on (mode ask).`
}
