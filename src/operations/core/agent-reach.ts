import { isRead, type Operation } from '../../contract/operation.ts'
import { staysWithin } from '../../contract/resources.ts'
import { type AgentReach, environmentsIn, levelOf } from '../../domain/access/agent-limits.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import type { Membership } from '../../store/repositories/accounts.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findEnvironment, listEnvironmentIds } from '../../store/repositories/environments.ts'
import type { Caller } from './caller.ts'

/**
 * The membership as an agent of the member has it, narrowed to what the person chose (docs/interface.md#oauth). Null for
 * another account: it looks unknown to the agent.
 */
export async function narrowedMembership(
  tx: Tx,
  { token: { reach } }: Caller,
  membership: Membership | null,
): Promise<Membership | null> {
  if (reach === null || membership === null) return membership
  if (reach.account !== null && reach.account !== membership.accountId) return null
  const named = environmentsIn(reach)
  if (named === null && reach.app === null) return membership
  // A reach that names no account is still in one: another keeps its contact points and members to itself.
  if (reach.account === null && !(await isOf(tx, membership.accountId, reach))) return null
  const appEnvIds =
    named ?? (await listEnvironmentIds(tx, { appId: reach.app! })).map(({ appEnvId }) => appEnvId)
  return { ...membership, agent: { appEnvIds, appId: named === null ? reach.app : null } }
}

/** Whether the account has the app, or one of the environments. */
async function isOf(tx: Tx, accountId: string, reach: AgentReach): Promise<boolean> {
  const named = environmentsIn(reach)
  if (named === null) return (await findApp(tx, reach.app!))?.app.accountId === accountId
  for (const appEnvId of named)
    if ((await findEnvironment(tx, { appEnvId }))?.accountId === accountId) return true
  return false
}

/** The refusal of an operation that cannot be limited to what the agent may reach; null if it can. */
export function refusalBeyondReach({ token: { reach } }: Caller, operation: Operation): AppError | null {
  const level = reach && levelOf(reach)
  const as = isRead(operation) ? 'reads' : 'writes'
  if (level === null || staysWithin(operation.policy.on, as, level)) return null
  return new AppError('forbidden', 'This reaches beyond what the agent was allowed', {
    details:
      'The person held the agent to one account or app, or to some environments. Ask them to connect it again.',
    rule: 'agent-reach',
  })
}
