import { randomUUID } from 'node:crypto'
import { sleep } from '../../clock.ts'
import { getAppEnvStatus } from '../../contract/app-env-reads.ts'
import { getAppEnv } from '../../contract/app-envs.ts'
import { getApproval, withdrawApproval } from '../../contract/approvals.ts'
import { listAppEnvBackups } from '../../contract/backups.ts'
import { cancelDeployment } from '../../contract/deployments.ts'
import { failureWords } from '../../contract/failure-words.ts'
import { cancelJobRun, getJobRun, type JobRunResponse } from '../../contract/jobs.ts'
import type { Operation } from '../../contract/operation.ts'
import { AppError } from '../../errors.ts'
import { sanitizeInline } from '../policy/untrusted-text.ts'
import { approvalSentence } from './approval-sentence.ts'
import type { Tool, ToolContext, ToolInput } from './define-tool.ts'
import { deploymentResult } from './deployment-result.ts'
import { errorResult, successResult, type ToolResult, taskResult } from './result.ts'
import { fitsTaskId, type TaskKind, type TaskOf, type TaskRef } from './task-ref.ts'
import { stageOf, waitForDeployment } from './wait-for-deployment.ts'
import { runResult } from './wait-for-job-run.ts'

type Answer = Record<string, unknown>
/** Kinds whose state is read; of a `call` it is the answer. */
type ReadKind = Exclude<TaskKind, 'call'>
type Read<Kind extends ReadKind> = (
  tool: Tool,
  ctx: ToolContext,
  ref: TaskRef & { of: TaskOf<Kind> },
) => Promise<ToolResult>

const nowOf = ({ clock }: ToolContext) => new Date(clock.wallMs()).toISOString()

/** What the answer of an accepted call left to wait for; null if nothing is under way. */
export async function startedTask(
  tool: Tool,
  ctx: ToolContext,
  { sent, answer }: { sent: ToolInput; answer: Answer },
): Promise<TaskRef | null> {
  const of = await startedBy(tool, ctx, sent, answer)
  return of && { tool: tool.name, at: nowOf(ctx), of }
}

async function startedBy(
  tool: Tool,
  ctx: ToolContext,
  sent: ToolInput,
  answer: Answer,
): Promise<TaskRef['of'] | null> {
  if (tool.waits === 'job-run') {
    const { jobRunId, finishedAt } = answer.jobRun as JobRunResponse
    return finishedAt === null ? { kind: 'run', jobRunId } : null
  }
  if (tool.task === 'move') {
    if (typeof sent.region !== 'string') return null
    const { appEnvId } = answer as { appEnvId: string }
    const { changingRegion, region } = await ctx.client.call(getAppEnv, { appEnvId }, { signal: ctx.signal })
    return changingRegion ? { kind: 'move', appEnvId, region } : null
  }
  const { appEnvId } = answer.appEnv as { appEnvId: string }
  if (tool.task === 'restore') {
    const { accountId } = await ctx.reads.environment({ appEnvId }, ctx.signal)
    const { restoreId } = answer.restore as { restoreId: string }
    return { kind: 'restore', accountId, appEnvId, restoreId }
  }
  const status = await ctx.client.call(getAppEnvStatus, { appEnvId }, { signal: ctx.signal })
  const newest = status.currentDeployment
  const underWay = newest?.status === 'BUILDING' || newest?.status === 'DEPLOYING'
  const starts = status.status === 'PENDING' || status.status === 'UPDATING'
  if (newest === null || !(underWay || starts)) return null
  const held = ((answer.heldChanges ?? []) as { by: string | null }[]).slice(0, 20).map(({ by }) => by)
  const of = { kind: 'deployment' as const, appEnvId, contentId: newest.contentId }
  return held.length === 0 ? of : { ...of, held }
}

const readDeployment: Read<'deployment'> = async (tool, ctx, ref) => {
  const { appEnvId, contentId, held = [] } = ref.of
  const end = await waitForDeployment(ctx, { appEnvId, contentId, before: null, waitSeconds: 0 })
  if (end.kind === 'still-running') return taskResult(ref, await stageOf(ctx, end.status))
  const answer: Answer = {
    success: true,
    appEnv: { appEnvId },
    contentId,
    version: end.deployment?.version ?? null,
    ...(held.length > 0 && { heldChanges: held.map((by) => ({ path: '', by })) }),
  }
  const result = await deploymentResult({ tool, sent: { appEnvId }, ctx, notes: [] }, answer, end)
  const isCanceled = end.kind === 'failed' && end.deployment.failure?.reason === 'canceled'
  return isCanceled ? { ...result, canceled: true } : result
}

const readRun: Read<'run'> = async (tool, ctx, ref) => {
  const { jobRun } = await ctx.client.call(getJobRun, { jobRunId: ref.of.jobRunId }, { signal: ctx.signal })
  const message = `${jobRun.status}, attempt ${Math.max(1, jobRun.attempt)}`
  if (jobRun.finishedAt === null) return taskResult(ref, message)
  const result = await runResult(tool, ctx, jobRun, { waitSeconds: 0, notes: [] })
  return jobRun.status === 'CANCELED' ? { ...result, canceled: true } : result
}

const readApproval: Read<'approval'> = async (_tool, ctx, ref) => {
  const { approvalId } = ref.of
  const approval = await ctx.client.call(getApproval, { approvalId }, { signal: ctx.signal })
  const { status, url } = approval
  if (status === 'pending') return awaitedDecision(ref, url)
  if (status === 'approved') return taskResult(ref, 'A person approved it; it runs.')
  const result = successResult({ point: approvalSentence(approval), answer: { ...approval } })
  return { ...result, isError: status !== 'executed', canceled: status === 'withdrawn' }
}

const readRestore: Read<'restore'> = async (_tool, ctx, ref) => {
  const { accountId, appEnvId, restoreId } = ref.of
  const lists = await ctx.client.call(listAppEnvBackups, { accountId, appEnvId }, { signal: ctx.signal })
  const restore = lists.restores.find((one) => one.restoreId === restoreId)
  if (restore === undefined) {
    throw new AppError('not-found', 'Restore not found', {
      details: 'Only the last 20 restores are kept; diagnose-app-env shows how the environment is.',
    })
  }
  if (restore.finishedAt === null)
    return taskResult(ref, restore.waitingFor ?? `The restore is ${restore.status}`)
  if (restore.failure === null)
    return successResult({ point: `${restoreId} is restored.`, answer: { restore } })
  const details = `${sanitizeInline(restore.failure, 1_000)} diagnose-app-env shows how the environment is.`
  return errorResult(new AppError('conflict', 'The restore failed', { details }), { restore })
}

const readMove: Read<'move'> = async (_tool, ctx, ref) => {
  const { appEnvId, region } = ref.of
  const { signal } = ctx
  const env = await ctx.client.call(getAppEnv, { appEnvId }, { signal })
  const status = await ctx.client.call(getAppEnvStatus, { appEnvId }, { signal })
  const { volumeMove, currentDeployment: newest } = status
  if (env.changingRegion)
    return taskResult(ref, volumeMove ? `Moving its volume: ${volumeMove.step}` : await stageOf(ctx, status))
  const facts = { appEnvId, region: env.region, status: status.status }
  const name = sanitizeInline(status.cliEnvName)
  if (env.region === region)
    return successResult({ point: `${name} is in ${region}, ${status.status}.`, answer: facts })
  const why = newest?.failure
    ? sanitizeInline(failureWords(newest.failure).reason)
    : 'another change replaced it'
  const details = `${why}. It is still in ${env.region}. diagnose-app-env shows the cause.`
  const result = errorResult(
    new AppError('conflict', `${name} did not move to ${region}`, { details }),
    facts,
  )
  return newest?.failure?.reason === 'canceled' ? { ...result, canceled: true } : result
}

interface TaskRow {
  /** Whose inputs name the object, for the scope of the server. */
  reads: Operation
  read: Read<ReadKind>
  /** The operation that ends what a task waits for, when the person cancels it in the host. */
  cancel: Operation | null
}

const rows = {
  deployment: { reads: getAppEnvStatus, read: readDeployment as Read<ReadKind>, cancel: cancelDeployment },
  run: { reads: getJobRun, read: readRun as Read<ReadKind>, cancel: cancelJobRun },
  approval: { reads: getApproval, read: readApproval as Read<ReadKind>, cancel: withdrawApproval },
  restore: { reads: listAppEnvBackups, read: readRestore as Read<ReadKind>, cancel: null },
  move: { reads: getAppEnvStatus, read: readMove as Read<ReadKind>, cancel: cancelDeployment },
} satisfies Record<ReadKind, TaskRow>

export function taskRow(kind: ReadKind): TaskRow {
  return rows[kind]
}

/** The ids of a task that an operation takes. */
export function idsOf({ of }: TaskRef, { input }: Operation): ToolInput {
  return Object.fromEntries(Object.entries(of).filter(([name]) => name in input.shape))
}

/** A write that waits for a person. */
export function approvalTask(
  tool: Tool,
  ctx: ToolContext,
  { approvalId, url }: { approvalId: string; url: string },
): ToolResult {
  return awaitedDecision({ tool: tool.name, at: nowOf(ctx), of: { kind: 'approval', approvalId } }, url)
}

function awaitedDecision(ref: TaskRef, url: string): ToolResult {
  return taskResult(ref, `Waiting for a person to decide at ${url}`, url)
}

/** A cancellation that comes too late is none: the task shows how it ended. */
export async function cancelTask(ctx: ToolContext, ref: TaskRef, operation: Operation): Promise<void> {
  try {
    await ctx.client.call(operation, idsOf(ref, operation) as never, {
      signal: ctx.signal,
      confirmedBy: 'host',
    })
  } catch (error) {
    if (error instanceof AppError && error.kind === 'conflict') return
    throw error
  }
}

const answeredAtOnceMs = 1_000

/**
 * A call that the platform answers late. It keeps the answer under the key, so the call is not bound to this process: the
 * same call with the same key gets the answer, and does nothing again.
 */
export async function keptCall(
  tool: Tool,
  ctx: ToolContext,
  { args, key = randomUUID() }: { args: ToolInput; key?: string },
  run: (args: ToolInput) => Promise<ToolResult>,
): Promise<ToolResult> {
  const of = { kind: 'call' as const, args: args as TaskOf<'call'>['args'], key }
  const ref: TaskRef = { tool: tool.name, at: nowOf(ctx), of }
  const work = run({ ...args, idempotencyKey: key })
  if (!fitsTaskId(ref)) return work
  const late = sleep(ctx.clock, answeredAtOnceMs, ctx.signal).then(() => null)
  for (const loser of [work, late]) loser.catch(() => {})
  try {
    return (await Promise.race([work, late])) ?? taskResult(ref, 'The call is running')
  } catch (error) {
    // Another instance runs it.
    const isRunning =
      error instanceof AppError && error.kind === 'conflict' && error.retryAfterSeconds !== undefined
    if (isRunning) return taskResult(ref, 'The call is running')
    throw error
  }
}
