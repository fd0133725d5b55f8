import { sleep } from '../../clock.ts'
import { type Deployment, getAppEnvStatus, getLogs } from '../../contract/app-env-reads.ts'
import { failureWords } from '../../contract/failure-words.ts'
import { servesUnproven } from '../../contract/health-words.ts'
import type { OutputOf } from '../../contract/operation.ts'
import { AppError } from '../../errors.ts'
import { envelope, sanitizeInline } from '../policy/untrusted-text.ts'
import { buildStep } from './build-step.ts'
import type { ToolContext } from './define-tool.ts'
import { diagnosisOf, isOurMessage } from './failure-diagnosis.ts'
import { cut } from './result-size.ts'

type StatusResponse = OutputOf<typeof getAppEnvStatus>

const mostWithoutProgress = 45

/** How long a call waits: as requested, else 300 s. At most 45 s without progress: such clients time out near 60 s. */
export function waitSecondsOf(input: Readonly<Record<string, unknown>>, takesProgress: boolean): number {
  const requested = typeof input.waitSeconds === 'number' ? input.waitSeconds : 300
  return takesProgress ? requested : Math.min(requested, mostWithoutProgress)
}

export type DeploymentEnd =
  /** The desired version serves. */
  | { kind: 'serves'; deployment: Deployment | null; status: StatusResponse }
  /** The call started no deployment, because there was nothing to do. */
  | { kind: 'unchanged'; deployment: null; status: StatusResponse }
  | { kind: 'failed'; deployment: Deployment; status: StatusResponse }
  /** A newer deployment replaced it before it served. */
  | { kind: 'superseded'; deployment: Deployment; status: StatusResponse }
  | { kind: 'still-running'; deployment: Deployment | null; status: StatusResponse; seconds: number }

const firstPauseMs = 200
const longestPauseMs = 2_000

/**
 * Polls the status until the deployment of a call has ended: `contentId` if the call returned one, else the newest.
 * `before` is the newest deployment before the call, so that an old failure is not taken for a new one. Sends progress;
 * after `waitSeconds` it stops waiting, and the deployment continues.
 */
export async function waitForDeployment(
  ctx: ToolContext,
  options: { appEnvId: string; contentId: string | null; before: Deployment | null; waitSeconds: number },
): Promise<DeploymentEnd> {
  const startedMs = ctx.clock.monotonicMs()
  let pauseMs = firstPauseMs
  for (;;) {
    const status = await readStatus(ctx, options.appEnvId)
    const seconds = (ctx.clock.monotonicMs() - startedMs) / 1000
    const end = endOf(status, options)
    if (end !== null) return end
    const left = options.waitSeconds - seconds
    const deployment = status.currentDeployment
    if (left <= 0) return { kind: 'still-running', deployment, status, seconds: Math.round(seconds) }
    if (ctx.takesProgress) {
      ctx.progress(`${await stageOf(ctx, status)}, ${Math.round(seconds)} s`, seconds, options.waitSeconds)
    }
    await sleep(ctx.clock, Math.min(pauseMs, left * 1000), ctx.signal)
    ctx.signal.throwIfAborted()
    pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)
  }
}

/** A short outage of the store must not end the wait, because the deployment continues. */
async function readStatus(ctx: ToolContext, appEnvId: string): Promise<StatusResponse> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ctx.client.call(getAppEnvStatus, { appEnvId }, { signal: ctx.signal })
    } catch (error) {
      const passing =
        error instanceof AppError && (error.kind === 'unavailable' || error.kind === 'rate-limited')
      if (!passing || attempt >= 10) throw error
      await sleep(ctx.clock, longestPauseMs, ctx.signal)
    }
  }
}

function endOf(
  status: StatusResponse,
  options: { contentId: string | null; before: Deployment | null },
): DeploymentEnd | null {
  const deployment = status.currentDeployment
  const { contentId, before } = options
  if (contentId === null && isSame(deployment, before)) {
    // A deployment that ended before the call is not its outcome.
    return isSettled(status) ? { kind: 'unchanged', deployment: null, status } : null
  }
  if (deployment === null) return null
  if (contentId !== null && deployment.contentId !== contentId) {
    return { kind: 'superseded', deployment, status }
  }
  if (deployment.status === 'FAILED') return { kind: 'failed', deployment, status }
  return deployment.status === 'DEPLOYED' && isSettled(status) ? { kind: 'serves', deployment, status } : null
}

/** Whether `now` is the deployment from before the call and had already ended then. */
function isSame(now: Deployment | null, before: Deployment | null): boolean {
  if (now === null || before === null) return now === before
  const hadEnded = before.status === 'FAILED' || before.status === 'DEPLOYED'
  return hadEnded && before.contentId === now.contentId && before.createdAt === now.createdAt
}

function isSettled(status: StatusResponse): boolean {
  return status.status === 'RUNNING' || status.status === 'STOPPED'
}

/** What a deployment is doing, in our words. */
export async function stageOf(ctx: ToolContext, status: StatusResponse): Promise<string> {
  const { currentDeployment: newest } = status
  const stage = newest?.status ?? status.status
  const step = newest?.status === 'BUILDING' && (await buildStep(ctx, status.appEnvId, newest.contentId))
  if (step) return step
  if (servesUnproven(status)) return `${stage}, serves already; it must stay healthy for its stability window`
  if (stage !== 'DEPLOYED') return stage
  return `${status.status}, ${status.containers.ready} of ${status.containers.desired} containers ready`
}

/** The `deployment` field of the result. */
export function deploymentFacts(end: DeploymentEnd): Record<string, unknown> {
  const { deployment, status } = end
  return {
    finished: end.kind !== 'still-running',
    outcome: end.kind,
    environmentStatus: status.status,
    servingVersion: status.currentVersion,
    contentId: deployment?.contentId ?? null,
    version: deployment?.version ?? null,
    status: deployment?.status ?? null,
    failure: deployment?.failure ?? null,
    health: status.health?.verdict ?? null,
    hosts: status.hosts.map((host) => host.url),
  }
}

/** The error of a failed deployment. */
export function failureError(end: DeploymentEnd & { kind: 'failed' | 'superseded' }): AppError {
  const { deployment, status } = end
  const serving =
    status.currentVersion === null || status.status === 'STOPPED'
      ? 'No version is serving.'
      : `Version ${status.currentVersion} still serves.`
  if (end.kind === 'superseded') {
    return new AppError('conflict', 'Another deployment replaced this one before it served', {
      details: `The newest deployment is version ${deployment.version} (${deployment.status}). ${serving} Read get-app-env-status before deploying again.`,
    })
  }
  const { failure } = deployment
  const reason = failure ? failureWords(failure).reason : 'unknown'
  return new AppError(
    'invalid',
    `Deployment of version ${deployment.version} failed: ${sanitizeInline(reason)}`,
    {
      details: [
        serving,
        sanitizeInline(failure?.explanation ?? diagnosisOf(failure), 1_000),
        'Call diagnose-app-env for the cause and its next step, then deploy again.',
      ]
        .filter((sentence) => sentence !== '')
        .join(' '),
    },
  )
}

/**
 * Tenants' text about the failure, in an envelope: the failure message if it quotes them, and the last lines of the
 * log.
 */
export async function failureLog(ctx: ToolContext, end: DeploymentEnd & { kind: 'failed' }): Promise<string> {
  const { failure, type, containerImage } = end.deployment
  const isBuilt = type === 'IMAGE' || containerImage !== null
  const lines = failure === null || isOurMessage(failure) ? [] : [cut(failure.message, 400)]
  for (const logType of isBuilt ? ['RUNTIME', 'BUILD'] : ['BUILD', 'RUNTIME']) {
    const log = await lastLines(ctx, end, logType)
    if (log.length === 0) continue
    lines.push(...(lines.length === 0 ? [] : ['']), `${logType} log, newest last:`, ...log)
    break
  }
  return lines.length === 0 ? '' : envelope('end of the log, after what the failure quotes', lines).text
}

async function lastLines(
  ctx: ToolContext,
  end: DeploymentEnd & { kind: 'failed' },
  type: string,
): Promise<string[]> {
  const { contentId } = end.deployment
  const input = { appEnvId: end.status.appEnvId, contentId, type, size: 20 }
  try {
    const { logs } = await ctx.client.call(getLogs, input, { signal: ctx.signal })
    // The failure message is shown above the log, and is often its last line too.
    const failureMessage = end.deployment.failure?.message
    return logs.filter((line) => line.message !== failureMessage).map((line) => cut(line.message, 160))
  } catch (error) {
    // The log is optional; report the failure without it.
    if (error instanceof AppError) return []
    throw error
  }
}
