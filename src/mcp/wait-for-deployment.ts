import { sleep } from '../clock.ts'
import { type Deployment, getAppEnvStatus, getLogs } from '../contract/app-env-reads.ts'
import type { OutputOf } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import { cut } from './answer-size.ts'
import type { ToolContext } from './define-tool.ts'
import { envelope, visibleInline } from './untrusted-text.ts'

export type StatusAnswer = OutputOf<typeof getAppEnvStatus>

/** How long a call waits: told, or 300 s; a caller that takes no progress would give up near 60 s. */
export function waitSecondsOf(input: Readonly<Record<string, unknown>>, takesProgress: boolean): number {
  return typeof input.waitSeconds === 'number' ? input.waitSeconds : takesProgress ? 300 : 50
}

export type DeploymentEnd =
  /** The wished version serves. */
  | { kind: 'serves'; deployment: Deployment | null; status: StatusAnswer }
  /** The call began no deployment: there was nothing to do. */
  | { kind: 'unchanged'; deployment: null; status: StatusAnswer }
  | { kind: 'failed'; deployment: Deployment; status: StatusAnswer }
  /** A newer deployment took its place before it served. */
  | { kind: 'superseded'; deployment: Deployment; status: StatusAnswer }
  | { kind: 'still-running'; deployment: Deployment | null; status: StatusAnswer; seconds: number }

const firstPauseMs = 200
const longestPauseMs = 2_000

/**
 * Polls the status until the deployment that a call began has ended: `contentId` when the call named one, else
 * whatever is newest. `before` is the newest deployment before the call, so that an old failure is not taken
 * for a new one. Sends progress; gives up waiting, not deploying, after `waitSeconds`.
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
    ctx.progress(`${stageOf(status)}, ${Math.round(seconds)} s`, seconds, options.waitSeconds)
    await sleep(ctx.clock, Math.min(pauseMs, left * 1000), ctx.signal)
    ctx.signal.throwIfAborted()
    pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)
  }
}

/** A store that is away for a moment must not end a wait: the deployment goes on without us. */
async function readStatus(ctx: ToolContext, appEnvId: string): Promise<StatusAnswer> {
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
  status: StatusAnswer,
  options: { contentId: string | null; before: Deployment | null },
): DeploymentEnd | null {
  const deployment = status.currentDeployment
  const { contentId, before } = options
  if (contentId === null && isSame(deployment, before)) {
    // What ended before the call says nothing about it: neither its success nor its failure.
    return isSettled(status) ? { kind: 'unchanged', deployment: null, status } : null
  }
  if (deployment === null) return null
  if (contentId !== null && deployment.contentId !== contentId) {
    return { kind: 'superseded', deployment, status }
  }
  if (deployment.status === 'FAILED') return { kind: 'failed', deployment, status }
  return deployment.status === 'DEPLOYED' && isSettled(status) ? { kind: 'serves', deployment, status } : null
}

/** Whether `now` is the deployment from before the call, and had ended by then. */
function isSame(now: Deployment | null, before: Deployment | null): boolean {
  if (now === null || before === null) return now === before
  const hadEnded = before.status === 'FAILED' || before.status === 'DEPLOYED'
  return hadEnded && before.contentId === now.contentId && before.createdAt === now.createdAt
}

function isSettled(status: StatusAnswer): boolean {
  return status.status === 'RUNNING' || status.status === 'STOPPED'
}

function stageOf(status: StatusAnswer): string {
  const stage = status.currentDeployment?.status ?? status.status
  if (stage !== 'DEPLOYED') return stage
  return `${status.status}, ${status.containers.ready} of ${status.containers.desired} containers ready`
}

/** What the structured answer says of the wait. */
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
    hosts: status.hosts.map((host) => host.url),
  }
}

/** A deployment that failed, in the words of an error. */
export function failureError(end: DeploymentEnd & { kind: 'failed' | 'superseded' }): AppError {
  const { deployment, status } = end
  const serving =
    status.currentVersion === null || status.status === 'STOPPED'
      ? 'Nothing serves now.'
      : `Version ${status.currentVersion} still serves.`
  if (end.kind === 'superseded') {
    return new AppError('conflict', 'Another deployment took its place before it served', {
      details: `The newest deployment is version ${deployment.version} (${deployment.status}). ${serving} Read get-app-env-status before deploying again.`,
    })
  }
  const reason = deployment.failure?.reason ?? 'unknown'
  return new AppError(
    'invalid',
    `Deployment of version ${deployment.version} failed: ${visibleInline(reason)}`,
    {
      details: `${serving} Mend the cause, which stands below, then deploy again.`,
    },
  )
}

/**
 * Why it failed, in an envelope: the message of the failure, which repeats output of the tenant's program, and
 * the last lines of the log that explains it.
 */
export async function failureLog(ctx: ToolContext, end: DeploymentEnd & { kind: 'failed' }): Promise<string> {
  const { failure, type, containerImage } = end.deployment
  const isBuilt = type === 'IMAGE' || containerImage !== null
  const lines = failure === null ? [] : [cut(failure.message, 400)]
  for (const logType of isBuilt ? ['RUNTIME', 'BUILD'] : ['BUILD', 'RUNTIME']) {
    const log = await lastLines(ctx, end, logType)
    if (log.length === 0) continue
    lines.push('', `${logType} log, newest last:`, ...log)
    break
  }
  return lines.length === 0 ? '' : envelope('message of the failure and the end of the log', lines).text
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
    // The message of the failure stands above the log, and is mostly its last line too.
    const told = end.deployment.failure?.message
    return logs.filter((line) => line.message !== told).map((line) => cut(line.message, 160))
  } catch (error) {
    // The log only explains; without it the failure still stands.
    if (error instanceof AppError) return []
    throw error
  }
}
