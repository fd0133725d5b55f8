import type { ContactPointType } from '../../../contract/contact-points.ts'

export const contactPointTypeNames: Record<ContactPointType, string> = {
  webhook: 'Webhook',
  chat: 'Chat',
  email: 'Email',
  incident: 'Incident service',
}
