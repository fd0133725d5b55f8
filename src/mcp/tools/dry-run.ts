import type { ConfirmedBy } from '../../contract/audit.ts'
import type { Impact } from '../../contract/impact.ts'
import { isRead } from '../../contract/operation.ts'
import { AppError } from '../../errors.ts'
import type { ToolContext, ToolInput } from './define-tool.ts'

/** Response of a dry run (docs/interface.md#dry-runs). */
interface DryRun extends Record<string, unknown> {
  dryRun: true
  changes: { path: string; before: unknown; after: unknown }[]
  /** The effects in plain sentences. */
  effects: string[]
  impact: Impact
}

/** Refusals of dry runs, which are in the audit log already. */
const recorded = new WeakSet<AppError>()

/**
 * All checks of the platform, without effect. Throws the refusal that the call itself would get. With `declined`, the audit
 * log records the call as refused.
 */
export async function readDryRun(
  ctx: ToolContext,
  input: ToolInput,
  { declined = false } = {},
): Promise<DryRun> {
  try {
    const options = { signal: ctx.signal, dryRun: true, declined }
    const answer: unknown = await ctx.client.call(ctx.operation, input, options)
    return answer as DryRun
  } catch (error) {
    if (error instanceof AppError) recorded.add(error)
    throw error
  }
}

/**
 * A refusal before the platform has seen the write, so that the audit log would miss the attempt: by a read, a check, or the
 * options of this server. The platform records it with its own checks, as it does for a refused dry run.
 */
export async function recordRefusal(ctx: ToolContext, input: ToolInput, error: unknown): Promise<never> {
  const isRefused =
    error instanceof AppError &&
    (error.kind === 'forbidden' || error.rule !== undefined) &&
    !recorded.has(error)
  if (isRefused && !isRead(ctx.operation)) await recordDecline(ctx, input)
  throw error
}

/** The call ends here: reported for the audit log, with what answered the question, if there was one. */
export async function recordDecline(
  ctx: ToolContext,
  input: ToolInput,
  confirmedBy?: ConfirmedBy,
): Promise<void> {
  await ctx.client.call(ctx.operation, input, { declined: true, confirmedBy }).catch(() => {})
}

export function dryRunPoint(title: string, { changes, effects }: DryRun): string {
  const counted = `${changes.length} change${changes.length === 1 ? '' : 's'}`
  return [`Dry run of "${title}": nothing was changed. It would make ${counted}.`, ...effects].join(' ')
}
