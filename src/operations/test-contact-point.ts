import { testContactPoint } from '../contract/contact-points.ts'
import { apiPrefix } from '../contract/operation.ts'
import { newId } from '../domain/ids.ts'
import { testNotice } from '../domain/notice.ts'
import { AppError } from '../errors.ts'
import { countTestNotices, insertNotice } from '../store/notices.ts'
import { handler } from './handler.ts'

const takeOverMs = 120_000

/** A test goes to an address of the caller's choice: the platform is no tool to flood others with. */
const mostTests = 30
const perMs = 60_000

/** The notice is stored like any other; the answer waits, outside the transaction, for what became of it. */
export default handler(testContactPoint, async (context, _input, { contactPoint }) => {
  const { contactPointId, accountId, name, type } = contactPoint
  const { installation, notices, now } = context
  // Test notices are stored as of when the loop would take them over.
  const since = new Date(Date.parse(now) + takeOverMs - perMs).toISOString()
  if ((await countTestNotices(context.tx, accountId, since)) >= mostTests) {
    throw new AppError('rate-limited', 'Too many test notices', {
      details: `An account may send ${mostTests} in a minute. Wait as long as Retry-After says.`,
      retryAfterSeconds: perMs / 1000,
    })
  }
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
