import type { DiagnosisCause, Evidence, Finding } from '../../contract/diagnosis.ts'
import { failedSeverity, failureEvidence, returnFix, stillServes } from './build.ts'
import { lastLine } from './evidence.ts'
import type { DeploymentFacts, Detector, Facts } from './facts.ts'
import { namedCause, signIn, summaryOf } from './named-cause.ts'

/** Causes by the reason of the failure, for deployments that have an image. */
export const startCauses: Readonly<Record<string, DiagnosisCause>> = {
  'wrong-port': 'wrong-port',
  'loopback-bind': 'loopback-bind',
  'start-timeout': 'start-timeout',
  'out-of-memory': 'out-of-memory',
  'bad-command': 'bad-command',
  'exits-at-once': 'exits-at-once',
  exited: 'crash-loop',
  'missing-module': 'missing-module',
  database: 'database-down',
  timeout: 'start-timeout',
  'failing-checks': 'failing-checks',
  unreachable: 'failing-checks',
}

/** Reasons that name the event and not its cause: the output of the program may have the cause. */
const vague = new Set<DiagnosisCause>(['exits-at-once', 'crash-loop', 'missing-module', 'start-timeout'])

/** Why the newest deployment has an image and does not run. */
export const detectStart: Detector = (facts) => {
  const { latest } = facts
  if (latest?.status === 'DEPLOYING') return detectElsewhere(facts, latest)
  if (latest?.status !== 'FAILED' || latest.failure === null) return []
  const recorded = startCauses[latest.failure.reason]
  if (recorded === undefined) return []
  const sign = vague.has(recorded) ? signIn(facts, facts.failedLog) : null
  const named = sign && explains(recorded, sign.cause) ? namedCause(facts, sign) : null
  const cause = named?.cause ?? recorded
  return [
    {
      cause,
      severity: failedSeverity(facts),
      confidence: named ? 'likely' : 'certain',
      summary: `Version ${latest.version} did not become healthy: ${summaryOf(cause, facts, named)}.${stillServes(facts)}`,
      since: latest.failedAt ?? latest.createdAt,
      evidence: [...failureEvidence(facts), ...(named?.evidence ?? unexplained(facts, recorded))],
      fix: named?.startFix ?? returnFix(facts) ?? moreMemory(cause, facts),
    },
  ]
}

/** If the output contains no known cause, a person or an agent may still recognize the line. */
function unexplained({ failedLog }: Facts, recorded: DiagnosisCause): Evidence[] {
  return vague.has(recorded) ? lastLine(failedLog) : []
}

/** Known long before the deployment fails: a program may open other ports before its own. */
function detectElsewhere(facts: Facts, { rolloutId, version }: DeploymentFacts): Finding[] {
  const pod = facts.pods.find((one) => one.rolloutId === rolloutId && !one.ready && one.listensElsewhere)
  if (!pod?.listensElsewhere) return []
  const { since, message } = pod.listensElsewhere
  return [
    {
      cause: 'wrong-port',
      severity: failedSeverity(facts),
      confidence: 'likely',
      summary: `Version ${version} listens, and not on the port of the app.${stillServes(facts)}`,
      since,
      evidence: [{ source: 'container', at: since, text: message }],
      fix: null,
    },
  ]
}

/** A program that still runs waits for a service; causes that end other programs do not apply to it. */
function explains(recorded: DiagnosisCause, cause: DiagnosisCause): boolean {
  // A start file that is missing is a missing module to Node, and a wrong command to its owner.
  if (recorded === 'missing-module') return cause === 'missing-module' || cause === 'bad-command'
  return (
    recorded === 'exits-at-once' ||
    recorded === 'crash-loop' ||
    cause === 'dependency-refused' ||
    cause === 'wrong-port'
  )
}

/** Twice the memory may still be too little, so a person decides. */
export function moreMemory(cause: DiagnosisCause, { appEnvId, zClouds }: Facts): Finding['fix'] {
  if (cause !== 'out-of-memory' || zClouds >= 8) return null
  const effects = [
    `Saves ${zClouds * 2} zClouds, twice the memory, as a pending change for the next deployment.`,
  ]
  return { operation: 'update-app-env', input: { appEnvId, zClouds: zClouds * 2 }, effects, safe: false }
}
