import { listAppEnvDomains } from '../../contract/domains.ts'
import { domainShown } from '../../domain/domains/domain.ts'
import { listDomainsOf } from '../../store/repositories/domains.ts'
import { handler } from '../core/handler.ts'

export default handler(listAppEnvDomains, async ({ tx }, _input, { environment }) => {
  const domains = await listDomainsOf(tx, environment.appEnvId)
  return { answer: { domains: domains.map(domainShown) } }
})
