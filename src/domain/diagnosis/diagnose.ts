import { diagnosisCauses, type Finding, findingSeverities } from '../../contract/diagnosis.ts'
import { withinBudget } from './budget.ts'
import { detectBuild } from './build.ts'
import { detectCapacity } from './capacity.ts'
import { detectDependencies } from './dependencies.ts'
import type { Detector, Facts } from './facts.ts'
import { detectJob } from './job.ts'
import { withNextStep } from './next-step.ts'
import { detectRuntime } from './runtime.ts'
import { withSafety } from './safe-fix.ts'
import { detectStart } from './start.ts'
import {
  detectAlerts,
  detectCopies,
  detectEngine,
  detectFiring,
  detectPending,
  detectStopped,
} from './state.ts'

const mostFindings = 5
const mostEvidence = 3

const detectors: readonly Detector[] = [
  detectEngine,
  detectBuild,
  detectStart,
  detectRuntime,
  detectJob,
  detectCapacity,
  detectCopies,
  detectStopped,
  detectPending,
  detectFiring,
  detectAlerts,
  detectDependencies,
]

/** Every finding that the facts hold, the root cause first. Pure: same facts, same findings. */
export function diagnose(facts: Facts): Finding[] {
  const isStopped = detectStopped(facts).length > 0
  const found = detectors
    // Build and start problems of a stopped environment are over.
    .filter((detect) => !isStopped || (detect !== detectBuild && detect !== detectStart))
    .flatMap((detect) => detect(facts))
  // The finding that revealed the cause is more specific than the one from the setting alone.
  const isKnown = ({ cause }: Finding, index: number) =>
    (cause === 'database-down' || cause === 'pending-change') &&
    found.findIndex((one) => one.cause === cause) < index
  const open = found.filter((one, index) => !isKnown(one, index))
  return open
    .map((one, index) => ({ one, index }))
    .sort((a, b) => rankOf(a.one) - rankOf(b.one) || a.index - b.index)
    .slice(0, mostFindings)
    .map(({ one }) => {
      const others = open.filter((other) => other !== one)
      const shown = withNextStep(facts, { ...one, evidence: one.evidence.slice(0, mostEvidence) })
      return withinBudget(withSafety(facts, shown, others))
    })
}

/** The finding about the newest deployment, if it failed: also its cause in every other answer. */
export function failureFinding(facts: Facts): Finding | null {
  const [finding] = [detectBuild, detectStart].flatMap((detect) => detect(facts))
  return facts.latest?.status === 'FAILED' && finding ? withNextStep(facts, finding) : null
}

export function isHealthy(findings: readonly Finding[]): boolean {
  return findings.every(({ severity }) => severity === 'info')
}

/** An engine that does not answer comes first, then the severity, then the order of the catalog. */
function rankOf({ cause, severity }: Finding): number {
  if (cause === 'engine-away') return -1
  return findingSeverities.indexOf(severity) * 100 + diagnosisCauses.indexOf(cause)
}
