import { counted } from '../../amounts.ts'
import { sleep } from '../../clock.ts'
import { getLogs } from '../../contract/app-env-reads.ts'
import { getJobRun, type JobRunResponse } from '../../contract/jobs.ts'
import { AppError } from '../../errors.ts'
import { envelope } from '../policy/untrusted-text.ts'
import type { Note, Tool, ToolContext } from './define-tool.ts'
import { nextFields } from './next-actions.ts'
import { errorResult, successResult, type ToolResult } from './result.ts'

const firstPauseMs = 200
const longestPauseMs = 2_000
const linesShown = 20

/**
 * Waits until the run of `answer.jobRun` has ended, with progress, for at most `waitSeconds`; after that the run
 * continues. An unsuccessful run becomes an error with the end of its log.
 */
export async function jobRunResult(
  tool: Tool,
  ctx: ToolContext,
  answer: Record<string, unknown>,
  options: { waitSeconds: number; notes: Note[] },
): Promise<ToolResult> {
  const started = answer.jobRun as JobRunResponse
  try {
    const jobRun = await waitForRun(ctx, started, options.waitSeconds)
    return await runResult(tool, ctx, jobRun, options)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    // The write succeeded, and the caller must know that even if the reads after it failed.
    const details = `The run was started as jobRunId ${started.jobRunId}. Do not start it again; read get-job-run. Reading the run failed: ${error.message}. ${error.details ?? ''}`
    return errorResult(new AppError(error.kind, 'The outcome of the run is unknown', { details }), {
      accepted: answer,
    })
  }
}

async function waitForRun(
  ctx: ToolContext,
  started: JobRunResponse,
  waitSeconds: number,
): Promise<JobRunResponse> {
  const { jobRunId } = started
  const startedMs = ctx.clock.monotonicMs()
  let pauseMs = firstPauseMs
  for (;;) {
    const jobRun = await readRun(ctx, jobRunId)
    const seconds = (ctx.clock.monotonicMs() - startedMs) / 1000
    if (jobRun.finishedAt !== null || seconds >= waitSeconds) return jobRun
    ctx.progress(
      `${jobRun.status}, attempt ${Math.max(1, jobRun.attempt)}, ${Math.round(seconds)} s`,
      seconds,
      waitSeconds,
    )
    await sleep(ctx.clock, Math.min(pauseMs, (waitSeconds - seconds) * 1000), ctx.signal)
    ctx.signal.throwIfAborted()
    pauseMs = Math.min(longestPauseMs, pauseMs * 1.5)
  }
}

/** A short outage of the store must not end the wait, because the run continues. */
async function readRun(ctx: ToolContext, jobRunId: string): Promise<JobRunResponse> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return (await ctx.client.call(getJobRun, { jobRunId }, { signal: ctx.signal })).jobRun
    } catch (error) {
      const passing =
        error instanceof AppError && (error.kind === 'unavailable' || error.kind === 'rate-limited')
      if (!passing || attempt >= 10) throw error
      await sleep(ctx.clock, longestPauseMs, ctx.signal)
    }
  }
}

export async function runResult(
  tool: Tool,
  ctx: ToolContext,
  jobRun: JobRunResponse,
  { waitSeconds, notes }: { waitSeconds: number; notes: Note[] },
): Promise<ToolResult> {
  const { jobRunId, status, attempt, exitCode, reason } = jobRun
  if (jobRun.finishedAt === null) {
    const point = `Not finished: run ${jobRunId} is still ${status} after ${waitSeconds} s. Poll get-job-run until it has ended; cancel-job-run ends it.`
    const next = nextFields({ jobRun }, { tool, sent: {} }, ctx.isListed)
    return successResult({ point, answer: { jobRun, ...next }, notes })
  }
  if (status === 'SUCCEEDED') {
    const point = `Run ${jobRunId} SUCCEEDED with exit code ${exitCode}${attempt > 1 ? ` at attempt ${attempt}` : ''}. get-logs with appEnvId and jobRunId shows its output.`
    return successResult({ point, answer: { jobRun }, notes })
  }
  const how = exitCode === null ? (reason ?? 'unknown') : `exit code ${exitCode}`
  const error = new AppError(
    'invalid',
    `Run ${jobRunId} is ${status} after ${counted(attempt, 'attempt')}: ${how}`,
    {
      details:
        'Fix the cause (the end of its log is below; get-logs with appEnvId and jobRunId shows all of it), then start another run.',
    },
  )
  const log = await lastLines(ctx, jobRun)
  const result = errorResult(error, { jobRun }, log)
  return log === '' ? result : { ...result, structured: { ...result.structured, untrustedLog: log } }
}

async function lastLines(ctx: ToolContext, { appEnvId, jobRunId }: JobRunResponse): Promise<string> {
  try {
    const input = { appEnvId, jobRunId, size: linesShown }
    const { logs } = await ctx.client.call(getLogs, input, { signal: ctx.signal })
    const lines = logs.map((line) => `${line.timestamp} ${line.stream} ${line.message}`)
    return lines.length === 0 ? '' : envelope('end of the log of the run', lines).text
  } catch (error) {
    // The log is optional; report the result without it.
    if (error instanceof AppError) return ''
    throw error
  }
}
