import type { Domain } from '../../contract/domains.ts'
import type { Loss, ToolContext, ToolInput } from './define-tool.ts'
import { readDryRun } from './dry-run.ts'

/** Effect of removing a domain, for the confirmation. Only the platform knows which one a spelling means. */
export async function domainEffects(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const { changes } = await readDryRun(ctx, input)
  const { domain, status } = changes[0]!.before as Domain
  return { name: domain, verb: 'remove', what: `domain ${domain} (${status}) with its certificate` }
}
