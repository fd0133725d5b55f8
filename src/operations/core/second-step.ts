import { isRead } from '../../contract/operation.ts'
import { showsSecrets } from '../../contract/scopes.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import { findAccount, listMembershipsOfUser } from '../../store/repositories/accounts.ts'
import { listPasskeys } from '../../store/repositories/passkeys.ts'
import { findToken } from '../../store/repositories/tokens.ts'
import type { Target } from './access-targets.ts'
import type { Call } from './call.ts'
import type { Caller } from './caller.ts'
import type { Installation } from './handler.ts'

interface Proving {
  caller: Caller
  call: Pick<Call, 'credential'>
  target: Target
  now: string
  installation: Pick<Installation, 'adminTokenHash'>
}

interface Step extends Proving {
  call: Pick<Call, 'operation' | 'input' | 'credential'>
}

/**
 * With `reauthenticateSeconds` of the account, a person decides approvals, reads secrets and changes access only in a session in
 * which they showed who they are within that time (docs/sign-in.md#second-step).
 */
export async function requireSecondStep(tx: Tx, step: Step): Promise<void> {
  const { call } = step
  const isGuarded = isRead(call.operation)
    ? showsSecrets(call.input)
    : call.operation.needsSecondStep === true
  if (isGuarded) await requireProof(tx, step)
}

/** For what is no operation, such as the access that a person gives an agent. */
export async function requireProof(tx: Tx, step: Proving): Promise<void> {
  const { caller, target } = step
  if (caller.kind !== 'user' || caller.actor !== 'person') return
  const seconds = await secondsOf(tx, caller.userId, target)
  if (seconds === null || (await isProved(tx, step, seconds))) return
  throw new AppError('forbidden', 'Confirm that it is you', {
    details: `The account asks for it again after ${seconds} seconds. Sign in to the console again, with a passkey if you have one, and do it there.`,
    rule: 'second-step',
  })
}

/** The setting of the account; for what belongs to no account, the strictest of the user's accounts. Null: off. */
async function secondsOf(tx: Tx, userId: string, target: Target): Promise<number | null> {
  const { account } = target as { account?: { settings: { reauthenticateSeconds: number } } }
  if (account) return account.settings.reauthenticateSeconds || null
  const memberships = await listMembershipsOfUser(tx, userId)
  const accounts = await Promise.all(memberships.map(({ accountId }) => findAccount(tx, accountId)))
  const set = accounts.flatMap((one) => one?.settings.reauthenticateSeconds || [])
  return set.length === 0 ? null : Math.min(...set)
}

async function isProved(
  tx: Tx,
  { caller, call, now, installation }: Proving,
  seconds: number,
): Promise<boolean> {
  // A mailed link works once, and only its person has the mailbox.
  if (call.credential === 'approval-link') return true
  if (await isAdminToken(tx, caller, installation)) return true
  const { provedAt, method } = caller.session ?? { provedAt: null, method: null }
  if (provedAt === null || Date.parse(provedAt) + seconds * 1000 <= Date.parse(now)) return false
  if (method !== 'token' && method !== 'link') return true
  // Programs of the person may have the token, but not the device.
  return caller.kind === 'user' && (await listPasskeys(tx, caller.userId)).length === 0
}

/** The token in the data directory, beside the keys: the way back in. */
async function isAdminToken(
  tx: Tx,
  { token }: Caller,
  installation: Proving['installation'],
): Promise<boolean> {
  const hash = installation.adminTokenHash()
  return hash !== null && (await findToken(tx, hash))?.tokenId === token.tokenId
}
