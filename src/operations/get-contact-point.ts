import { getContactPoint } from '../contract/contact-points.ts'
import { requireSecretsAccess } from './authorise.ts'
import { contactPointAnswer } from './contact-point-answers.ts'
import { handler } from './handler.ts'

export default handler(getContactPoint, async (context, input, { contactPoint, membership }) => {
  if (input.showSecrets) {
    requireSecretsAccess(context.caller, membership, 'Admin permission required to show secrets')
  }
  return { answer: contactPointAnswer(context, contactPoint, input.showSecrets) }
})
