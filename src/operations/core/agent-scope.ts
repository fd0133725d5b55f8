import { isRead, type Operation } from '../../contract/operation.ts'
import { staysWithin } from '../../contract/resources.ts'
import { type AgentScope, environmentsIn, levelOf } from '../../domain/access/agent-limits.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import type { Membership } from '../../store/repositories/accounts.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findEnvironment, listEnvironmentIds } from '../../store/repositories/environments.ts'
import type { Caller } from './caller.ts'

/**
 * The membership of an agent: that of its person, narrowed to the limits that the person chose (docs/interface.md#oauth).
 * Null for another account, which looks unknown to the agent.
 */
export async function narrowedMembership(
  tx: Tx,
  { token: { scope } }: Caller,
  membership: Membership | null,
): Promise<Membership | null> {
  if (scope === null || membership === null) return membership
  if (scope.account !== null && scope.account !== membership.accountId) return null
  const named = environmentsIn(scope)
  if (named === null && scope.app === null) return membership
  // A scope without an account still belongs to one: another keeps its contact points and members to itself.
  if (scope.account === null && !(await isOf(tx, membership.accountId, scope))) return null
  const appEnvIds =
    named ?? (await listEnvironmentIds(tx, { appId: scope.app! })).map(({ appEnvId }) => appEnvId)
  return { ...membership, agent: { appEnvIds, appId: named === null ? scope.app : null } }
}

/** Whether the account has the app, or one of the environments. */
async function isOf(tx: Tx, accountId: string, scope: AgentScope): Promise<boolean> {
  const named = environmentsIn(scope)
  if (named === null) return (await findApp(tx, scope.app!))?.app.accountId === accountId
  for (const appEnvId of named)
    if ((await findEnvironment(tx, { appEnvId }))?.accountId === accountId) return true
  return false
}

/** The refusal of an operation that cannot be limited to the agent's scope; null if it can. */
export function refusalOutsideScope({ token: { scope } }: Caller, operation: Operation): AppError | null {
  const level = scope && levelOf(scope)
  const as = isRead(operation) || operation.proposes ? 'reads' : 'writes'
  if (level === null || staysWithin(operation.policy.on, as, level)) return null
  return new AppError('forbidden', 'The agent is not allowed to do this', {
    details:
      'Its access is limited to one account or app, or to some environments. The person can connect it again with more.',
    rule: 'agent-scope',
  })
}
