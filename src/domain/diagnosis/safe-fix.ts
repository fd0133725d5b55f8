import type { DiagnosisCause, Finding, Fix } from '../../contract/diagnosis.ts'
import type { Facts } from './facts.ts'

/** The fixes that heal their cause in the fault suite (test/real/diagnosis/faults.long.test.ts). */
export const healedBy: Readonly<Partial<Record<DiagnosisCause, readonly string[]>>> = {
  'missing-module': ['redeploy-app-env'],
  'database-down': ['start-app-env'],
  'crash-loop': ['redeploy-app-env'],
  'concurrency-saturated': ['update-function-config'],
  'scale-limit': ['update-app-env-autoscaling'],
  stopped: ['start-app-env'],
  'pending-change': ['apply-app-env-changes'],
  'alert-misconfigured': ['update-alert'],
}

/** How each fix is undone; one that is not listed cannot be. */
const undoneBy: Readonly<Record<string, 'undo-change' | 'redeploy'>> = {
  'apply-app-env-changes': 'redeploy',
  'redeploy-app-env': 'redeploy',
  'start-app-env': 'undo-change',
  'update-alert': 'undo-change',
  'update-app-env-autoscaling': 'undo-change',
  'update-function-config': 'undo-change',
}

/** A detector proposes that its fix is safe; the other facts and findings decide (docs/interface.md#safe-fixes). */
export function withSafety(facts: Facts, finding: Finding, others: readonly Finding[]): Finding {
  const { fix, cause } = finding
  if (!fix?.safe) return finding
  const safe =
    (healedBy[cause]?.includes(fix.operation) ?? false) &&
    fix.operation in undoneBy &&
    !(appliesPending(fix) && (facts.foreignPending ?? []).length > 0) &&
    !others.some((other) => couldHide(fix, other))
  return safe ? finding : { ...finding, fix: { ...fix, safe } }
}

function appliesPending({ operation, input }: Fix): boolean {
  return (
    operation === 'apply-app-env-changes' || (operation === 'redeploy-app-env' && input.settings === 'saved')
  )
}

/** An alert that fires is a symptom of the cause, and its contact points change nothing that runs. */
function couldHide({ operation }: Fix, { severity, cause }: Finding): boolean {
  return severity !== 'info' && cause !== 'alert-firing' && operation !== 'update-alert'
}
