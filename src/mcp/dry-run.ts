import type { ToolContext, ToolInput } from './define-tool.ts'

/** What a write answers when it is only tried (contract.md 1, Dry run). */
export interface DryRun extends Record<string, unknown> {
  dryRun: true
  changes: { path: string; before: unknown; after: unknown }[]
  /** What it would make happen, in a person's words. */
  effects: string[]
}

/** All checks of the platform, no effect. Throws what the call itself would be refused with. */
export async function readDryRun(ctx: ToolContext, input: ToolInput): Promise<DryRun> {
  const answer: unknown = await ctx.client.call(ctx.operation, input, { signal: ctx.signal, dryRun: true })
  return answer as DryRun
}

export function dryRunPoint(title: string, { changes, effects }: DryRun): string {
  const counted = `${changes.length} change${changes.length === 1 ? '' : 's'}`
  return [`Dry run of "${title}": nothing was done. It would make ${counted}.`, ...effects].join(' ')
}
