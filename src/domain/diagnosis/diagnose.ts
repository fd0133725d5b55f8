import { diagnosisCauses, type Finding, findingSeverities } from '../../contract/diagnosis.ts'
import { detectBuild } from './build.ts'
import { detectCapacity } from './capacity.ts'
import type { Detector, Facts } from './facts.ts'
import { withNextStep } from './next-step.ts'
import { detectRuntime } from './runtime.ts'
import { detectStart } from './start.ts'
import { detectAlerts, detectEngine, detectPending, detectStopped } from './state.ts'

const mostFindings = 5
const mostEvidence = 3

const detectors: readonly Detector[] = [
  detectEngine,
  detectBuild,
  detectStart,
  detectRuntime,
  detectCapacity,
  detectStopped,
  detectPending,
  detectAlerts,
]

/** Every finding that the facts hold, the root cause first. Pure: same facts, same findings. */
export function diagnose(facts: Facts): Finding[] {
  const isStopped = detectStopped(facts).length > 0
  const found = detectors
    // What a stopped environment did before it was stopped is over.
    .filter((detect) => !isStopped || (detect !== detectBuild && detect !== detectStart))
    .flatMap((detect) => detect(facts))
  return found
    .map((one, index) => ({ one, index }))
    .sort((a, b) => rankOf(a.one) - rankOf(b.one) || a.index - b.index)
    .map(({ one }) => ({ ...one, evidence: one.evidence.slice(0, mostEvidence) }))
    .slice(0, mostFindings)
    .map((one) => withNextStep(facts, one))
}

export function isHealthy(findings: readonly Finding[]): boolean {
  return findings.every(({ severity }) => severity === 'info')
}

/** An engine that is away comes first, then the severity, then the order of the catalog. */
function rankOf({ cause, severity }: Finding): number {
  if (cause === 'engine-away') return -1
  return findingSeverities.indexOf(severity) * 100 + diagnosisCauses.indexOf(cause)
}
