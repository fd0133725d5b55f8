import type { DiagnosisCause } from '../../contract/diagnosis.ts'
import { lastLine } from './evidence.ts'
import type { Detector, JobRunFacts } from './facts.ts'
import { type NamedCause, namedCause, signIn, summaryOf } from './named-cause.ts'
import { moreMemory } from './start.ts'

/** Exit codes of a shell whose command is missing or not executable. */
const noCommand = [126, 127]

/** Why the newest run that ended failed. */
export const detectJob: Detector = (facts) => {
  const [last, ...earlier] = facts.jobRuns
  if (facts.desiredState !== 'running' || !last || last.status === 'SUCCEEDED') return []
  const sign = last.reason === 'OOMKilled' ? null : signIn(facts, facts.servingLog)
  const named = sign && namedCause(facts, sign)
  const cause = causeOf(last, named)
  const why =
    last.status === 'TIMED_OUT' ? 'it took longer than its timeoutSeconds' : summaryOf(cause, facts, named)
  const code = last.exitCode === null ? '' : `, exit code ${last.exitCode}`
  const text = `run ${last.jobRunId}: ${last.status}${code}${last.reason === null ? '' : ` (${last.reason})`}`
  return [
    {
      cause,
      severity: earlier.some(({ status }) => status === 'SUCCEEDED') ? 'warning' : 'critical',
      confidence: named ? 'likely' : 'certain',
      summary: `The newest run ${last.status === 'TIMED_OUT' ? 'timed out' : 'failed'}: ${why}.`,
      since: last.finishedAt,
      evidence: [
        { source: 'container', at: last.finishedAt, text },
        ...(named?.evidence ?? lastLine(facts.servingLog)),
      ],
      fix: named?.runningFix ?? moreMemory(cause, facts),
    },
  ]
}

function causeOf({ reason, exitCode, status }: JobRunFacts, named: NamedCause | null): DiagnosisCause {
  if (reason === 'OOMKilled') return 'out-of-memory'
  if (named) return named.cause
  return status === 'FAILED' && noCommand.includes(exitCode ?? 0) ? 'bad-command' : 'failed-run'
}
