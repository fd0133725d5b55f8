import { createContactPoint } from '../../contract/contact-points.ts'
import { contactPointsPage } from '../../domain/alerts/console-pages.ts'
import type { StoredContactPoint } from '../../domain/alerts/contact-point.ts'
import { newId } from '../../domain/ids.ts'
import { insertContactPoint } from '../../store/repositories/contact-points.ts'
import { handler } from '../core/handler.ts'
import {
  contactPointChange,
  contactPointResponse,
  newSigning,
  sealedConfig,
} from './contact-point-responses.ts'

const withoutLinks =
  'Notifications have no links, because people elsewhere cannot reach the address of this installation: the operator sets LONGSHORE_PUBLIC_URL.'

export default handler(createContactPoint, async (context, input, { account }) => {
  const contactPointId = newId('cp')
  const { name, type, config } = input
  const made = type === 'webhook' ? newSigning(context, contactPointId) : null
  const point: StoredContactPoint = {
    contactPointId,
    accountId: account.accountId,
    name,
    type,
    config: sealedConfig(context, { contactPointId, type, config: {} }, config),
    ...(made ? { signing: made.signing } : {}),
    createdAt: context.now,
    updatedAt: context.now,
    revision: 1,
  }
  await insertContactPoint(context.tx, point)
  const warnings = contactPointsPage(context.installation.publicUrl()) === null ? [withoutLinks] : []
  return {
    answer: {
      message: [
        `Contact point ${contactPointId} created. A test notification shows whether it arrives.`,
        ...(made
          ? ['Its notifications are signed: rotate-contact-point-secret shows a person a new secret.']
          : []),
        ...warnings,
      ].join(' '),
      ...(made ? { signingSecret: made.secret } : {}),
      contactPoint: contactPointResponse(context, point),
    },
    change: contactPointChange(null, point),
    impact: { actions: made ? ['create-object', 'reveal-secret'] : ['create-object'] },
    effects: [
      `Creates a contact point of type ${type}. Nothing is sent until an alert uses it.`,
      ...warnings,
    ],
  }
})
