import { endUserSessions } from '../../contract/sign-in.ts'
import {
  deleteConsoleLinksOfUser,
  deleteConsoleSession,
  listConsoleSessions,
  sessionIdOfHash,
} from '../../store/repositories/console-sessions.ts'
import { deleteSignInLinksOfUser } from '../../store/repositories/sign-in-links.ts'
import { notFound } from '../core/authorize.ts'
import { handler, noImpact } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(endUserSessions, async ({ tx, caller }, { sessionId }) => {
  const userId = userOf(caller)
  const all = await listConsoleSessions(tx, userId)
  const ended = all.filter(
    ({ sessionHash }) => sessionId === undefined || sessionIdOfHash(sessionHash) === sessionId,
  )
  if (sessionId !== undefined && ended.length === 0) throw notFound('session')
  for (const { sessionHash } of ended) await deleteConsoleSession(tx, sessionHash)
  if (sessionId === undefined) {
    await deleteConsoleLinksOfUser(tx, userId)
    await deleteSignInLinksOfUser(tx, userId)
  }
  return {
    answer: {
      message: sessionId === undefined ? 'Signed out everywhere' : 'Signed out',
      ended: ended.length,
    },
    change: {
      objectType: 'session',
      objectId: sessionId ?? userId,
      accountId: null,
      before: { sessions: ended.map(({ sessionHash }) => sessionIdOfHash(sessionHash)) },
      after: null,
    },
    impact: ended.length === 0 ? noImpact : { actions: ['change-credential'] },
    effects: [
      sessionId === undefined
        ? 'Every browser is signed out, and open sign-in links stop working. Tokens stay.'
        : 'This browser is signed out at its next request.',
    ],
  }
})
