import { uploadAppEnvCertificate } from '../../contract/domains.ts'
import { checkCertificate } from '../../domain/domains/certificate.ts'
import { domainShown, keyName, withUploaded } from '../../domain/domains/domain.ts'
import { saveDomain } from '../../store/repositories/domains.ts'
import { handler } from '../core/handler.ts'
import { domainChange, requireDomain } from './responses.ts'

export default handler(uploadAppEnvCertificate, async (context, input, target) => {
  const { now, secrets, tx } = context
  const before = await requireDomain(context, target, input.domain)
  const certificate = checkCertificate(input.certificate, before.domain, Date.parse(now))
  const sealed = secrets.seal(input.certificate.key, keyName(before.domainId))
  const after = {
    ...withUploaded(before, { certificate, chain: input.certificate.chain }, sealed),
    dueAt: now,
  }
  await saveDomain(tx, after)
  return {
    answer: {
      message: `${before.domain} is served with the uploaded certificate, valid to ${certificate.notAfter}`,
      domain: domainShown(after),
    },
    change: domainChange(before, after),
    impact: { actions: ['change-credential'], undo: 'none' },
    effects: [
      `New connections to ${before.domain} get this certificate; open ones keep theirs.`,
      'It is not renewed by itself.',
    ],
    wake: [target.environment.appEnvId],
  }
})
