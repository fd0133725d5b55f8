import type { Remediation, RemediationRun } from '../../contract/remediations.ts'
import type { StoredRemediation, StoredRun } from '../../domain/remediation/remediation.ts'
import type { Tx } from '../../store/db.ts'
import { findAlert } from '../../store/repositories/alerts.ts'

export async function remediationResponse(tx: Tx, stored: StoredRemediation): Promise<Remediation> {
  const { modeBefore: _, ...remediation } = stored
  return { ...remediation, problem: await problemOf(tx, stored) }
}

async function problemOf(tx: Tx, { trigger }: StoredRemediation): Promise<string | null> {
  if (!('alertId' in trigger)) return null
  const alert = await findAlert(tx, trigger.alertId)
  if (!alert) return 'Its alert was deleted, so it never starts. Set another trigger with update-remediation.'
  return alert.enabled ? null : 'Its alert is paused, so it does not start.'
}

export function runResponse(run: StoredRun): RemediationRun {
  const { runId, remediationId, appEnvId, episode, status, reason, trigger, mode, dryRun, approvalId } = run
  const { steps, picture, startedAt, finishedAt } = run
  return {
    ...{ runId, remediationId, appEnvId, episode, status, reason, trigger, mode, dryRun },
    ...(approvalId === undefined ? {} : { approvalId }),
    ...{ steps, picture, startedAt, finishedAt },
  }
}

/** One sentence about what it does, for dry runs and lists. */
export function sentenceOf({ mode, steps, trigger }: StoredRemediation): string {
  const when =
    'alertId' in trigger ? `the alert ${trigger.alertId} fires` : `diagnosis finds ${trigger.cause}`
  const what = steps.map(({ action }) => action).join(', then ')
  switch (mode) {
    case 'off':
      return 'It is off: nothing happens.'
    case 'observe':
      return `When ${when}, it records what ${what} would do, and does nothing.`
    case 'ask':
      return `When ${when}, it asks a person to approve ${what}.`
    case 'auto':
      return `When ${when}, it does ${what} by itself, and verifies the result.`
  }
}
