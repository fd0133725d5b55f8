import { listAppEnvDomains } from '../../contract/domains.ts'
import { AppError } from '../../errors.ts'
import type { Loss, ToolContext, ToolInput } from './define-tool.ts'

/** Effect of removing a domain, for the confirmation. */
export async function domainEffects(ctx: ToolContext, input: ToolInput): Promise<Loss> {
  const { appEnvId, envName, domain: given } = input
  const { domains } = await ctx.client.call(
    listAppEnvDomains,
    { appEnvId, envName } as Parameters<typeof ctx.client.call<typeof listAppEnvDomains>>[1],
    { signal: ctx.signal },
  )
  const found = domains.find(({ domain }) => domain === String(given).toLowerCase())
  if (!found) {
    throw new AppError('not-found', 'Domain not found', {
      details: 'list-app-env-domains shows the domains of this environment.',
    })
  }
  const { domain, status } = found
  return { name: domain, verb: 'remove', what: `domain ${domain} (${status}) with its certificate` }
}
