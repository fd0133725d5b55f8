import { countNotificationRecords, listNotificationRecords } from '../../alerting/outbox.ts'
import { listAlertNotifications } from '../../contract/alerts.ts'
import { handler } from '../core/handler.ts'

export default handler(listAlertNotifications, async ({ tx }, { limit, offset }, { alert: { alertId } }) => {
  const notifications = await listNotificationRecords(tx, alertId, { limit, offset })
  const total = await countNotificationRecords(tx, alertId)
  const pagination = { limit, offset, total, hasMore: offset + notifications.length < total }
  return { answer: { notifications, pagination } }
})
