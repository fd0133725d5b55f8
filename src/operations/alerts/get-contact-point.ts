import { getContactPoint } from '../../contract/contact-points.ts'
import { requireSecretsAccess } from '../core/authorize.ts'
import { handler, secretsShown } from '../core/handler.ts'
import { contactPointResponse } from './contact-point-responses.ts'

export default handler(getContactPoint, async (context, input, { contactPoint, membership }) => {
  if (!input.showSecrets) return { answer: contactPointResponse(context, contactPoint, false) }
  requireSecretsAccess(context.caller, membership, 'Admin permission required to show secrets')
  const { contactPointId: objectId, accountId } = contactPoint
  return {
    answer: contactPointResponse(context, contactPoint, true),
    change: secretsShown('contact-point', { objectId, accountId }),
  }
})
