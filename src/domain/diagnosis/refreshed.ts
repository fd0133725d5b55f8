import type { DiagnosisCause, Finding } from '../../contract/diagnosis.ts'
import { type Facts, fixBy } from './facts.ts'
import { listed, newAtSource } from './state.ts'

/** Symptoms of an outdated address or password of a service. */
const follows: readonly DiagnosisCause[] = [
  'dependency-refused',
  'database-down',
  'crash-loop',
  'exits-at-once',
  'error-burst',
  'request-timeout',
  'unanswered-requests',
  'failing-checks',
]

/** A source that changed after the deployment is the root cause of failures that its old value explains. */
export function withRefreshed(facts: Facts, finding: Finding): Finding {
  const { refreshed, appEnvId } = facts
  if (refreshed.length === 0 || !follows.includes(finding.cause)) return finding
  const effect = 'Puts the saved settings in force; containers are replaced without downtime where needed.'
  const [first] = finding.evidence
  return {
    ...finding,
    cause: 'pending-change',
    confidence: 'likely',
    summary: `${newAtSource(refreshed)}, and what runs has the old one. ${finding.summary}`,
    evidence: [
      { source: 'setting', at: facts.pendingSince, text: `not in force: ${listed(refreshed)}` },
      ...(first ? [first] : []),
      ...finding.evidence.slice(1),
    ],
    fix: fixBy('apply-app-env-changes', { appEnvId }, effect, true),
  }
}
