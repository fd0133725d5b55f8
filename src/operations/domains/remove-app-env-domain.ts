import { removeAppEnvDomain } from '../../contract/domains.ts'
import { domainShown } from '../../domain/domains/domain.ts'
import { deleteDomain } from '../../store/repositories/domains.ts'
import { handler } from '../core/handler.ts'
import { domainChange, requireDomain } from './responses.ts'

export default handler(removeAppEnvDomain, async (context, input, target) => {
  const removed = await requireDomain(context, target, input.domain)
  await deleteDomain(context.tx, removed.domainId)
  const { appEnvId, cliEnvName } = target.environment
  return {
    answer: {
      message: `Domain ${removed.domain} removed`,
      domain: { ...domainShown(removed), status: 'removed' as const },
    },
    change: domainChange(removed, null),
    impact: { actions: ['delete-object' as const], downtimeSeconds: null },
    effects: [
      `${cliEnvName} is no longer served under ${removed.domain}.`,
      ...(removed.certificate ? ['Deletes its certificate and private key.'] : []),
    ],
    wake: [appEnvId],
  }
})
