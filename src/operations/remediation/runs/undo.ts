import { undoChange } from '../../../contract/audit.ts'
import { redeployAppEnv } from '../../../contract/deployments.ts'
import type { Environment } from '../../../domain/environments/environment.ts'
import type { StoredRun } from '../../../domain/remediation/remediation.ts'
import { AppError } from '../../../errors.ts'
import type { StoredAuditEntry } from '../../../store/repositories/audit.ts'
import { listEntriesOfRun } from '../../../store/repositories/audit-changes.ts'
import { findEnvironment } from '../../../store/repositories/environments.ts'
import type { StepCall } from '../../core/call.ts'
import { checkInput } from '../../core/check-input.ts'
import type { Context } from '../../core/handler.ts'
import { textOf } from './act.ts'

interface Undone {
  run: StoredRun
  wake: string[]
  /** How many changes were put back. */
  count: number
  /** Why one could not be put back; the ones before it stay too. */
  problem: string | null
}

/** Puts back what the run changed, the newest change first: its own steps, and those of the agent that it called. */
export async function undoRun(context: Context, run: StoredRun): Promise<Undone> {
  const entries = await listEntriesOfRun(context.tx, run.runId)
  const undone = new Set(entries.flatMap(({ undid }) => undid ?? []))
  const result: Undone = { run: { ...run }, wake: [], count: 0, problem: null }
  for (const entry of entries
    .filter(({ entryId, undid }) => undid === null && !undone.has(entryId))
    .reverse()) {
    try {
      const call = await callThatUndoes(context, entry)
      if (call === null) continue
      const people = { requester: context.caller, approver: null, beyond: false }
      const { outcome } = await context.steps.perform(call, people)
      result.wake.push(...(outcome.wake ?? []))
      result.count += 1
      result.run.steps = marked(result.run.steps, entry.entryId, 'undone')
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      result.run.steps = marked(result.run.steps, entry.entryId, 'not-undone')
      result.problem = `${entry.operation} was not undone: ${textOf(error)}`
      break
    }
  }
  return result
}

function marked(steps: StoredRun['steps'], auditId: string, outcome: 'undone' | 'not-undone') {
  return steps.map((step) => (step.auditId === auditId ? { ...step, outcome } : step))
}

/** Null if the entry left nothing to put back, such as a restart or a run of a job. */
async function callThatUndoes({ tx }: Context, entry: StoredAuditEntry): Promise<StepCall | null> {
  const { impact, entryId, objectId, before } = entry
  if (!impact || impact.actions.includes('restart')) return null
  if (impact.undo === 'undo-change')
    return { operation: undoChange, input: checkInput(undoChange, { entryId }) }
  if (impact.undo !== 'redeploy') return null
  const { currentRolloutId, currentVersion } = before as Pick<
    Environment,
    'currentRolloutId' | 'currentVersion'
  >
  const now = await findEnvironment(tx, { appEnvId: objectId })
  // The deployment of the step failed, so what served before still serves.
  if (!now || (now.currentRolloutId === currentRolloutId && now.status !== 'UPDATING')) return null
  const version = { version: currentVersion, rolloutId: currentRolloutId, settings: 'of-version' }
  return { operation: redeployAppEnv, input: checkInput(redeployAppEnv, { appEnvId: objectId, ...version }) }
}
