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

/** All checks of the platform, without effect. Throws the refusal that the call itself would get. */
export async function readDryRun(ctx: ToolContext, input: ToolInput): Promise<DryRun> {
  try {
    const answer: unknown = await ctx.client.call(ctx.operation, input, { signal: ctx.signal, dryRun: true })
    return answer as DryRun
  } catch (error) {
    if (error instanceof AppError) recorded.add(error)
    throw error
  }
}

/**
 * A read that is refused ends the call before the platform sees the write, so the audit log would miss the attempt.
 * A dry run is refused for the same reason, and recorded.
 */
export async function recordRefusal(ctx: ToolContext, input: ToolInput, error: unknown): Promise<never> {
  const isRefused =
    error instanceof AppError &&
    (error.kind === 'forbidden' || error.rule !== undefined) &&
    !recorded.has(error)
  if (isRefused && !isRead(ctx.operation)) await readDryRun(ctx, input).catch(() => {})
  throw error
}

/** The person did not agree: the platform has not seen the call, so it is reported for the audit log. */
export async function recordDecline(ctx: ToolContext, input: ToolInput): Promise<void> {
  await ctx.client.call(ctx.operation, input, { declined: true }).catch(() => {})
}

export function dryRunPoint(title: string, { changes, effects }: DryRun): string {
  const counted = `${changes.length} change${changes.length === 1 ? '' : 's'}`
  return [`Dry run of "${title}": nothing was changed. It would make ${counted}.`, ...effects].join(' ')
}
