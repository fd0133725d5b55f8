import { countTestNotifications, insertNotification } from '../../alerting/outbox.ts'
import { testContactPoint } from '../../contract/contact-points.ts'
import { contactPointsPage } from '../../domain/alerts/console-pages.ts'
import { testNotification } from '../../domain/alerts/notification.ts'
import { newId } from '../../domain/ids.ts'
import { AppError } from '../../errors.ts'
import { handler } from '../core/handler.ts'
import { peopleNotified } from './people-notified.ts'

const takeOverMs = 120_000

/** The caller chooses the address, so tests are limited to prevent floods. */
const mostTests = 30
const perMs = 60_000

/** Stores the notification like any other, then waits for its delivery after the transaction. */
export default handler(testContactPoint, async (context, _input, { contactPoint }) => {
  const { contactPointId, accountId, name, type } = contactPoint
  const { installation, notifications, now } = context
  // Test notifications are stored with the time at which the delivery loop would take over.
  const since = new Date(Date.parse(now) + takeOverMs - perMs).toISOString()
  if ((await countTestNotifications(context.tx, accountId, since)) >= mostTests) {
    throw new AppError('rate-limited', 'Too many test notifications', {
      details: `An account may send ${mostTests} a minute. Retry after the number of seconds in Retry-After.`,
      retryAfterSeconds: perMs / 1000,
    })
  }
  const eventId = newId('evt')
  const notification = testNotification({
    eventId,
    accountId,
    contactPointName: name,
    region: installation.regions()[0]?.region ?? '',
    at: now,
    url: contactPointsPage(installation.publicUrl()),
  })
  const notificationId = await insertNotification(
    context.tx,
    { contactPointId, alertId: null, appEnvId: null, ordinal: 0, dedupKey: `test-${eventId}`, notification },
    // sendNow delivers it; the delivery loop takes over only if this process ends first.
    Date.parse(now) + takeOverMs,
  )
  return {
    // Provisional. Without attempts, the result of the delivery is unknown.
    answer: { delivered: false, attempts: [] },
    impact: {
      actions: ['send-message'],
      peopleNotified: await peopleNotified(context.tx, [contactPointId]),
    },
    effects: [`Sends a test notification to the ${type} contact point ${contactPointId}.`],
    afterCommit: () => notifications.sendNow(notificationId),
  }
})
