import type { Notification } from '../domain/alerts/notification.ts'
import type { SecretBox } from '../store/secrets/secret-box.ts'

/** The notification as its receiver gets it: in the outbox, the token of a called agent is sealed. */
export function withOpenToken(
  notification: Notification,
  notificationId: string,
  { open }: Pick<SecretBox, 'open'>,
): Notification {
  const { agent } = notification
  if (!agent) return notification
  return { ...notification, agent: { ...agent, token: open(agent.token, `${notificationId}/token`) } }
}
