import { counted } from '../../amounts.ts'
import { getRemediation } from '../../contract/remediations.ts'
import type { Loss, ToolContext, ToolInput } from './define-tool.ts'

/** Effect of deleting a remediation, for the confirmation. */
export async function remediationEffects(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const read = { remediationId: input.remediationId }
  const { remediationId, name, mode, runs } = await ctx.client.call(getRemediation, read, {
    signal: ctx.signal,
  })
  return {
    name: remediationId,
    verb: 'delete',
    what: `remediation ${remediationId} (mode ${mode}) with ${runs.length === 10 ? 'its runs' : counted(runs.length, 'run')}`,
    fields: { name },
  }
}
