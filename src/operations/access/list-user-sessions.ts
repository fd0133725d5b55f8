import { listUserSessions } from '../../contract/sign-in.ts'
import { isSessionOver } from '../../domain/access/session-life.ts'
import { listConsoleSessions, sessionIdOfHash } from '../../store/repositories/console-sessions.ts'
import { handler } from '../core/handler.ts'
import { userOf } from '../core/user-of.ts'

export default handler(listUserSessions, async ({ tx, caller, now }) => {
  const stored = await listConsoleSessions(tx, userOf(caller))
  const sessions = stored
    .filter((session) => !isSessionOver(session, Date.parse(now)))
    .map(({ sessionHash, usedAt: lastUsedAt, userId: _, ...session }) => {
      const sessionId = sessionIdOfHash(sessionHash)
      return { ...session, sessionId, lastUsedAt, current: caller.session?.sessionId === sessionId }
    })
  return { answer: { sessions } }
})
