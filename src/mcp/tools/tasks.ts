import { getAppEnvStatus } from '../../contract/app-env-reads.ts'
import { getApproval, withdrawApproval } from '../../contract/approvals.ts'
import { cancelDeployment } from '../../contract/deployments.ts'
import { cancelJobRun, getJobRun, type JobRunResponse } from '../../contract/jobs.ts'
import { AppError } from '../../errors.ts'
import { approvalSentence } from './approval-sentence.ts'
import type { Tool, ToolContext } from './define-tool.ts'
import { deploymentResult } from './deployment-result.ts'
import { successResult, type ToolResult, taskResult } from './result.ts'
import type { TaskRef } from './task-ref.ts'
import { stageOf, waitForDeployment } from './wait-for-deployment.ts'
import { runResult } from './wait-for-job-run.ts'

type Answer = Record<string, unknown>

/** What the answer of an accepted call left to wait for; null if nothing is under way. */
export async function startedTask(tool: Tool, ctx: ToolContext, answer: Answer): Promise<TaskRef | null> {
  const at = new Date(ctx.clock.wallMs()).toISOString()
  if (tool.waits === 'job-run') {
    const { jobRunId, finishedAt } = answer.jobRun as JobRunResponse
    return finishedAt === null ? { tool: tool.name, at, of: { kind: 'run', jobRunId } } : null
  }
  const { appEnvId } = answer.appEnv as { appEnvId: string }
  const status = await ctx.client.call(getAppEnvStatus, { appEnvId }, { signal: ctx.signal })
  const newest = status.currentDeployment
  const underWay = newest?.status === 'BUILDING' || newest?.status === 'DEPLOYING'
  const starts = status.status === 'PENDING' || status.status === 'UPDATING'
  if (newest === null || !(underWay || starts)) return null
  const held = ((answer.heldChanges ?? []) as { by: string | null }[]).slice(0, 20).map(({ by }) => by)
  const of = { kind: 'deployment' as const, appEnvId, contentId: newest.contentId }
  return { tool: tool.name, at, of: held.length === 0 ? of : { ...of, held } }
}

/** The present state of a task: a result with `task` while it goes on, else the result of its call. */
export async function readTask(tool: Tool, ctx: ToolContext, ref: TaskRef): Promise<ToolResult> {
  const { of } = ref
  switch (of.kind) {
    case 'deployment':
      return readDeployment(tool, ctx, ref, of)
    case 'run': {
      const { jobRun } = await ctx.client.call(getJobRun, { jobRunId: of.jobRunId }, { signal: ctx.signal })
      const message = `${jobRun.status}, attempt ${Math.max(1, jobRun.attempt)}`
      if (jobRun.finishedAt === null) return taskResult(ref, message)
      const result = await runResult(tool, ctx, jobRun, { waitSeconds: 0, notes: [] })
      return jobRun.status === 'CANCELED' ? { ...result, canceled: true } : result
    }
    default: {
      const approval = await ctx.client.call(
        getApproval,
        { approvalId: of.approvalId },
        { signal: ctx.signal },
      )
      if (approval.status === 'pending' || approval.status === 'approved')
        return taskResult(ref, `Waiting for a person to decide at ${approval.url}`)
      const { status } = approval
      const result = successResult({ point: approvalSentence(approval), answer: { ...approval } })
      return { ...result, isError: status !== 'executed', canceled: status === 'withdrawn' }
    }
  }
}

async function readDeployment(
  tool: Tool,
  ctx: ToolContext,
  ref: TaskRef,
  { appEnvId, contentId, held = [] }: Extract<TaskRef['of'], { kind: 'deployment' }>,
): Promise<ToolResult> {
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

/** A write that waits for a person. */
export function approvalTask(
  tool: Tool,
  { clock }: ToolContext,
  { approvalId, url }: { approvalId: string; url: string },
): ToolResult {
  const at = new Date(clock.wallMs()).toISOString()
  const ref = { tool: tool.name, at, of: { kind: 'approval' as const, approvalId } }
  return taskResult(ref, `Waiting for a person to decide at ${url}`)
}

/** The operation that ends what a task waits for: the person canceled the task in the host. */
export const cancelingOperation = {
  deployment: cancelDeployment,
  run: cancelJobRun,
  approval: withdrawApproval,
} as const

export async function cancelTask(ctx: ToolContext, { of }: TaskRef): Promise<void> {
  const { kind, ...ids } = of
  const { held: _, ...input } = ids as Record<string, unknown>
  try {
    await ctx.client.call(cancelingOperation[kind], input, { signal: ctx.signal, confirmedBy: 'host' })
  } catch (error) {
    // It ended before, or another deployment replaced it: the task shows how.
    if (error instanceof AppError && error.kind === 'conflict') return
    throw error
  }
}
