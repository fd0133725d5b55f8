import type { Deployment } from '../../contract/app-env-reads.ts'
import type { DiagnosisCause, Evidence, Finding } from '../../contract/diagnosis.ts'
import { cutQuote, quote } from './evidence.ts'
import { type DeploymentFacts, type Detector, type Facts, fixBy, redeployFix } from './facts.ts'
import { buildSign, type LogSign } from './log-signs.ts'

/** Failure reasons of a deployment that name a cause by themselves. */
export const buildCauses: Readonly<Record<string, DiagnosisCause>> = {
  'image pull': 'image-pull',
  'no Dockerfile': 'no-dockerfile',
  'lost upload': 'lost-upload',
  'bad archive': 'bad-archive',
  git: 'git-fetch',
  'build step': 'build-step',
  'build timeout': 'build-timeout',
  'not supported': 'not-supported',
  interrupted: 'interrupted',
}

const summaries: Partial<Record<DiagnosisCause, string>> = {
  'image-pull': 'its image could not be pulled',
  'no-dockerfile': 'the source has no usable Dockerfile',
  'lost-upload': 'its uploaded source is not stored any more',
  'bad-archive': 'the uploaded archive cannot be unpacked',
  'git-fetch': 'the source could not be fetched from the Git host',
  'lock-file': 'the package manager refused the lock file',
  'missing-file': 'a file or folder is missing in the source',
  'build-out-of-memory': 'a build step ran out of memory',
  'disk-full': 'the disk was full during the build',
  'build-step': 'a step of the build failed',
  'build-timeout': 'the build took too long',
  'not-supported': 'the engine of the region cannot run it',
  interrupted: 'the platform was interrupted',
}

/** Why the newest deployment got no image. */
export const detectBuild: Detector = (facts) => {
  const { latest } = facts
  if (latest?.status !== 'FAILED' || latest.failure === null) return []
  const named = buildCauses[latest.failure.reason]
  if (named === undefined) return []
  const sign = named === 'build-step' ? (buildSign(facts.buildLog) ?? signOfFailure(latest)) : null
  const cause = sign?.cause ?? named
  const evidence = failureEvidence(facts)
  if (sign) evidence.push(quote(sign.line))
  return [
    {
      cause,
      severity: failedSeverity(facts),
      confidence: sign ? 'likely' : 'certain',
      summary: `Version ${latest.version} was not deployed: ${summaryOf(cause, latest.type)}.${stillServes(facts)}`,
      since: latest.failedAt ?? latest.createdAt,
      evidence,
      fix: cause === 'interrupted' ? redeployFix(facts, latest.version) : returnFix(facts),
    },
  ]
}

/** A builder may name the cause in its verdict only. */
function signOfFailure({ failure, failedAt, createdAt, contentId }: DeploymentFacts): LogSign | null {
  const shared = { timestamp: failedAt ?? createdAt, stream: 'stderr', type: 'BUILD', podName: null } as const
  const lines = failure?.message.split('\n') ?? []
  return buildSign(lines.map((message) => ({ ...shared, contentId, message })))
}

function summaryOf(cause: DiagnosisCause, type: Deployment['type']): string | undefined {
  return cause === 'image-pull' && type === 'BUILD'
    ? 'the base image of its Dockerfile could not be pulled'
    : summaries[cause]
}

/** A failed deployment does no harm while an earlier version serves. */
export function failedSeverity({ serving }: Facts): Finding['severity'] {
  return serving === null ? 'critical' : 'warning'
}

export function stillServes({ serving }: Facts): string {
  return serving === null ? '' : ` Version ${serving.version} still serves.`
}

export function failureEvidence({ latest }: Facts): Evidence[] {
  if (!latest?.failure) return []
  const text = cutQuote(`${latest.failure.reason}: ${latest.failure.message}`)
  return [{ source: 'deployment', at: latest.failedAt ?? latest.createdAt, text }]
}

/** If no version serves any more, the last good one can. */
export function returnFix(facts: Facts): Finding['fix'] {
  const { current, serving, latest, appEnvId } = facts
  if (serving !== null || current === null || current.version === latest?.version) return null
  const effect = `Deploys version ${current.version}, which served before.`
  return fixBy('redeploy-app-env', { appEnvId, version: current.version }, effect, true)
}
