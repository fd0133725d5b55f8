import { verifyAppEnvDomain } from '../../contract/domains.ts'
import { domainShown } from '../../domain/domains/domain.ts'
import { AppError } from '../../errors.ts'
import { saveDomain } from '../../store/repositories/domains.ts'
import { handler, noImpact } from '../core/handler.ts'
import { requireDomain } from './responses.ts'

/** Only makes it due: a time that the certificate authority gave is kept, or it would refuse for longer. */
export default handler(verifyAppEnvDomain, async (context, input, target) => {
  const before = await requireDomain(context, target, input.domain)
  const { lastError, domain } = before
  if (lastError?.retryAt && lastError.type.endsWith(':rateLimited') && lastError.retryAt > context.now) {
    const seconds = Math.ceil((Date.parse(lastError.retryAt) - Date.parse(context.now)) / 1_000)
    throw new AppError('rate-limited', 'The certificate authority limits orders for this domain', {
      details: `It takes the next one at ${lastError.retryAt}.`,
      retryAfterSeconds: seconds,
    })
  }
  const due = { ...before, dueAt: context.now }
  await saveDomain(context.tx, due)
  return {
    answer: {
      message: `${domain} is checked within seconds. list-app-env-domains shows the result.`,
      domain: domainShown(due),
    },
    impact: noImpact,
    effects: [`Checks the DNS of ${domain} now.`],
  }
})
