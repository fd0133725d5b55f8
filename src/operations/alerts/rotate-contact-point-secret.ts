import { timestamp } from '../../clock.ts'
import { rotateContactPointSecret } from '../../contract/contact-points.ts'
import { AppError } from '../../errors.ts'
import { saveContactPoint } from '../../store/repositories/contact-points.ts'
import { handler } from '../core/handler.ts'
import { contactPointChange, newSigning } from './contact-point-responses.ts'

export default handler(
  rotateContactPointSecret,
  async (context, { overlapSeconds }, { contactPoint: before }) => {
    if (before.type !== 'webhook') {
      throw new AppError('invalid', 'Only webhooks are signed', {
        details: `The contact point ${before.contactPointId} is of type ${before.type}.`,
      })
    }
    const until = timestamp(Date.parse(context.now) + overlapSeconds * 1000)
    const overlaps = before.signing !== undefined && overlapSeconds > 0
    const { secret, signing } = newSigning(context, before.contactPointId)
    const after = {
      ...before,
      signing: overlaps ? { ...signing, previous: { secret: before.signing!.secret, until } } : signing,
      updatedAt: context.now,
      revision: before.revision + 1,
    }
    await saveContactPoint(context.tx, after)
    const previousValidUntil = overlaps ? until : null
    const overlap = overlaps ? ` Until ${until}, notifications are signed with the previous one, too.` : ''
    return {
      answer: {
        message: `The contact point ${after.contactPointId} has a new signing secret, shown this once.${overlap}`,
        signingSecret: secret,
        previousValidUntil,
      },
      change: contactPointChange(before, after),
      impact: { actions: ['change-credential', 'reveal-secret'] },
      effects: [`Notifications are signed with a new secret, which is shown once.${overlap}`],
    }
  },
)
