import type { App } from '../../contract/apps.ts'
import type { Impact } from '../../contract/impact.ts'
import { isRead } from '../../contract/operation.ts'
import { resources } from '../../contract/resources.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import type { PolicyCall, PolicyCaller, PolicyEnvironment } from '../../domain/policy/call.ts'
import type { Tx } from '../../store/db.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import type { EnvironmentTarget, Target } from './access-targets.ts'
import type { Call } from './call.ts'
import type { Caller } from './caller.ts'
import type { Change, Context, Outcome } from './handler.ts'
import { originOf } from './origin.ts'

type AnyTarget = Target & Partial<EnvironmentTarget>

/** A call as policies decide over it. The environments are those before the write; with new labels also those after it. */
export async function policyCallOf(
  { tx, caller, now }: Pick<Context, 'tx' | 'caller' | 'now'>,
  call: Call,
  target: AnyTarget,
  { change }: Pick<Outcome<unknown>, 'change'>,
  impact: Impact,
): Promise<PolicyCall> {
  return {
    at: now,
    accountId: target.account?.accountId ?? change?.accountId ?? null,
    operation: call.operation.id,
    caller: policyCallerOf(caller, call, target),
    environments: await environmentsOf(tx, target, change, impact.environments),
    impact,
    ...(isStopSwitch(caller, call) && { isStopSwitch: true }),
  }
}

/** What budgets and claims know an agent by: a name that only the agent itself gives would make it a new agent at will. */
export function agentKeyOf(caller: Caller): string | null {
  const { actor, token } = caller
  const owner = caller.kind === 'user' ? caller.userId : caller.appEnvId
  return actor === 'agent' ? `${owner} ${token.agent ?? token.tokenId}` : null
}

function policyCallerOf(caller: Caller, call: Call, { membership }: AnyTarget): PolicyCaller {
  const { actor, token } = caller
  return {
    kind: actor,
    userId: caller.kind === 'user' ? caller.userId : null,
    membershipId: membership?.membershipId ?? null,
    tokenId: token.tokenId || null,
    agent: originOf(caller, call).agent,
    agentKey: agentKeyOf(caller),
    surface: call.surface,
  }
}

async function environmentsOf(
  tx: Tx,
  target: AnyTarget,
  change: Change | undefined,
  ids: readonly string[],
): Promise<PolicyEnvironment[]> {
  const changes = change ? [change, ...(change.alsoChanged ?? [])] : []
  const found: PolicyEnvironment[] = []
  for (const appEnvId of ids) {
    const own = changes.find(
      ({ objectType, objectId }) => objectType === resources.environment.auditName && objectId === appEnvId,
    )
    const [before, after] = [environmentIn(own?.before), environmentIn(own?.after)]
    const isOwn = target.environment?.appEnvId === appEnvId
    const known =
      before ?? (isOwn ? target.environment : undefined) ?? after ?? (await findEnvironment(tx, { appEnvId }))
    if (!known) continue
    const app =
      target.app?.appId === known.appId ? target.app : ((await findApp(tx, known.appId))?.app ?? null)
    found.push(factsOf(known, app))
    if (before && after && differ(before, after)) found.push(factsOf(after, app))
  }
  return found
}

/** An environment in a change, whole: entries of references that were refreshed have only names. */
function environmentIn(value: unknown): Environment | null {
  const environment = value as Partial<Environment> | null | undefined
  return environment?.cliEnvName === undefined ? null : (environment as Environment)
}

function factsOf(
  { appEnvId, cliEnvName, labels, protected: isProtected }: Environment,
  app: App | null,
): PolicyEnvironment {
  return { appEnvId, envName: cliEnvName, app: app?.name ?? '', labels, protected: isProtected }
}

function differ(one: Environment, other: Environment): boolean {
  return one.protected !== other.protected || one.labels.join('\n') !== other.labels.join('\n')
}

function isStopSwitch({ actor }: Caller, { operation, input }: Call): boolean {
  if (actor !== 'person' || operation.id !== 'update-account' || isRead(operation)) return false
  const { accountId: _, expectedRevision: __, ...given } = input
  return (
    given.agentsPaused === true && Object.values(given).filter((value) => value !== undefined).length === 1
  )
}
