import { testContactPoint } from '../contract/contact-points.ts'
import { apiPrefix } from '../contract/operation.ts'
import { newId } from '../domain/ids.ts'
import { testNotice } from '../domain/notice.ts'
import { insertNotice } from '../store/notices.ts'
import { handler } from './handler.ts'

const takeOverMs = 120_000

/** The notice is stored like any other; the answer waits, outside the transaction, for what became of it. */
export default handler(testContactPoint, async (context, _input, { contactPoint }) => {
  const { contactPointId, accountId, name, type } = contactPoint
  const { installation, notices, now } = context
  const eventId = newId('evt')
  const notice = testNotice({
    eventId,
    accountId,
    contactPointName: name,
    region: installation.regions()[0]?.region ?? '',
    at: now,
    url: `${installation.apiUrl()}${apiPrefix}/contact-point?contactPointId=${contactPointId}`,
  })
  const noticeId = await insertNotice(
    context.tx,
    { contactPointId, alertId: null, appEnvId: null, ordinal: 0, dedupKey: `test-${eventId}`, notice },
    // Sent by sendNow; the loop takes it over only if this process ends before.
    Date.parse(now) + takeOverMs,
  )
  return {
    answer: { delivered: false, attempts: [] },
    effects: [`Sends a test notice to the ${type} contact point ${name}.`],
    settle: () => notices.sendNow(noticeId),
  }
})
