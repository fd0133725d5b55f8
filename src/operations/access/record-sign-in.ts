import type { Tx } from '../../store/db.ts'
import { listMembershipsOfUser } from '../../store/repositories/accounts.ts'
import { insertAuditEntry } from '../../store/repositories/audit.ts'
import { type ConsoleSession, sessionIdOfHash } from '../../store/repositories/console-sessions.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'

/** What is known of the browser that signs in. */
export interface ClientFacts {
  /** By the word of trusted proxies. */
  address: string
  /** Chosen by the client. */
  userAgent: string | null
}

/** A sign-in is in the audit log of each account of the person. */
export async function recordSignIn(tx: Tx, secrets: SecretBox, session: ConsoleSession): Promise<void> {
  const { sessionHash, userId, tokenId, method, createdAt, clientAddress, userAgent } = session
  const memberships = await listMembershipsOfUser(tx, userId)
  const accounts = memberships.length === 0 ? [null] : memberships.map(({ accountId }) => accountId)
  const none = { sessionId: null, traceId: null, agent: null, confirmedBy: null, chat: null }
  const entry = {
    ...{ at: createdAt, principal: userId, surface: 'console' as const, tokenId, clientAddress, ...none },
    ...{ undid: null, approvalId: null, remediationRunId: null, operation: 'sign-in', objectType: 'session' },
    ...{ objectId: sessionIdOfHash(sessionHash), outcome: 'done' as const, impact: null },
    ...{ before: null, after: { method, userAgent } },
  }
  for (const accountId of accounts) await insertAuditEntry(tx, { ...entry, accountId }, secrets)
}
