import { countStateChanges, listStateChanges } from '../../alerting/state-history.ts'
import { timestamp } from '../../clock.ts'
import { listAlertStateChanges } from '../../contract/alerts.ts'
import { handler } from '../core/handler.ts'

export default handler(listAlertStateChanges, async ({ tx, now }, { limit, offset, ...input }, { alert }) => {
  // Stored times compare as text in one form.
  const from = input.from === undefined ? undefined : timestamp(Date.parse(input.from))
  const changes = await listStateChanges(tx, alert.alertId, { from, limit, offset })
  const { total, completeFrom } = await countStateChanges(tx, alert, { from, now })
  const pagination = { limit, offset, total, hasMore: offset + changes.length < total }
  return { answer: { changes, completeFrom, pagination } }
})
