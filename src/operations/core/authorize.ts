import { isRead, type Policy } from '../../contract/operation.ts'
import type { Permission } from '../../contract/resource-facts.ts'
import {
  factsOf,
  fieldGiven,
  type PolicyType,
  type ResourceType,
  typesNamedBy,
} from '../../contract/resources.ts'
import { mayAccess, visibleEnvironments } from '../../domain/access/environment-access.ts'
import type { AppRecord } from '../../domain/apps/app-settings.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import { AppError } from '../../errors.ts'
import type { Tx } from '../../store/db.ts'
import {
  type Account,
  findAccount,
  findMembership,
  type Membership,
} from '../../store/repositories/accounts.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findEnvironment, hasEnvironments, listEnvironments } from '../../store/repositories/environments.ts'
import type { AccessRequest, AccountTarget, EnvironmentTarget, Target, TargetOn } from './access-targets.ts'
import { narrowedMembership, refusalOutsideScope } from './agent-scope.ts'
import { type Caller, unknownToken } from './caller.ts'
import { isOperator } from './operators.ts'
import { type Located, resourceOf } from './resources.ts'
import { refusalOfToken } from './token-limits.ts'

/**
 * Decides the policy of every operation, for every surface (docs/interface.md#permissions): the token, then the
 * object, the membership and the visibility (`loadVisible`), then the permission.
 */
export async function authorize(request: AccessRequest): Promise<Target> {
  const { caller, operation, input } = request
  const { policy } = operation
  const refusal = refusalOfToken(request) ?? refusalOutsideScope(caller, operation)
  if (refusal) {
    if (!isRead(operation)) await reportAccount(request)
    // The same for any object, so that the refusal does not reveal whether an object exists.
    throw refusal
  }
  if (caller.kind === 'environment') return authorizeEnvironmentToken(request, caller)
  if (policy.on === 'installation') {
    if (policy.operatorOnly) await requireOperator(request.tx, caller.userId)
    return {}
  }

  const type = typeNamed(policy, input)
  const { through, key } = factsOf(type)
  const target: Target & AccountTarget = await loadVisible(request, through ?? type)
  requirePermission(target.membership, policy.needs)

  if (through && key) return { ...target, [key]: await loadWithin(request, type, target.account) }
  if (policy.on === 'account-or-app') return { ...target, app: type === 'app' ? target.app : null }
  if (policy.on === 'environments') {
    const { app = null, environment = null } = target as Partial<EnvironmentTarget>
    return { ...target, app, environment }
  }
  // Both ids of a new environment must agree.
  if (policy.on === 'new-environment' && target.account.accountId !== input.accountId) throw notFound('app')
  return { ...target }
}

/** Reports the account that a refused call is about, for its audit log; none unless the caller belongs to it. */
async function reportAccount({ tx, caller, operation: { policy }, input, onAccount }: AccessRequest) {
  const type = typesNamedBy(policy.on).find((one) => fieldGiven(one, input) !== undefined)
  if (policy.on === 'installation' || type === undefined) return
  const object = await findNamed(tx, type as PolicyType, input)
  const membership = object && (await findMembershipOf(tx, caller, object.accountId))
  if (membership) onAccount?.(membership.accountId)
}

/**
 * The object that the input names, if the caller may see it. Unknown objects and those of another account get the same
 * answer (7.404); only members of the account learn more.
 */
export async function loadVisible<T extends PolicyType>(
  { tx, caller, input, onAccount }: AccessRequest,
  type: T,
): Promise<TargetOn<T>> {
  // 1. The object.
  const object = await findNamed(tx, type, input)

  // 2. The membership in its account.
  const membership = object && (await findMembershipOf(tx, caller, object.accountId))
  if (!membership) throw notFound(type)
  onAccount?.(membership.accountId)
  const owners = await findOwners(tx, type, object)
  if (!owners) throw notFound(type)

  // 3. Its visibility, where access of the member is restricted to some environments (M1 to M7).
  const target = { ...owners, membership, [factsOf(type).key!]: object }
  const place = factsOf(type).in
  if (place === 'environment') requireAccess(target, object.appEnvId!)
  if (place === 'app' && !(await seesApp(tx, target, object.appId!))) throw restricted('app')
  return target as unknown as TargetOn<T>
}

/** A2: only if the policy allows it, and only for the token's own environment. */
async function authorizeEnvironmentToken(
  { tx, operation: { policy }, input, onAccount }: AccessRequest,
  caller: Caller & { kind: 'environment' },
): Promise<Target> {
  const own = await findEnvironment(tx, { appEnvId: caller.appEnvId })
  if (!own) throw unknownToken()
  onAccount?.(own.accountId)
  if (!policy.environmentToken) {
    throw new AppError('forbidden', 'This operation needs a user token', {
      details: 'An environment token may deploy to and read its own environment only.',
      rule: 'A2',
    })
  }
  if (policy.on === 'installation') return {}
  const type = typeNamed(policy, input)
  const object = await findNamed(tx, type, input)
  const owners = object?.accountId === own.accountId ? await findOwners(tx, type, object) : null
  if (!object || !owners) throw notFound(type)
  if (object.appEnvId !== own.appEnvId) {
    throw new AppError('forbidden', 'This token belongs to another environment', {
      details: 'Use the token of this environment, or a user token.',
      rule: 'A2',
    })
  }
  return { ...owners, membership: null, [factsOf(type).key!]: object }
}

/** The type whose id the input gives; the nearest one where a policy takes several. */
function typeNamed({ on }: Policy, input: AccessRequest['input']): PolicyType {
  const types = typesNamedBy(on)
  const named = types.find((type) => fieldGiven(type, input) !== undefined)
  if (named === undefined && types.length > 1) throw idRequired(types)
  return (named ?? types[0]) as PolicyType
}

async function findNamed(tx: Tx, type: PolicyType, input: AccessRequest['input']): Promise<Located | null> {
  const field = fieldGiven(type, input)
  if (field === undefined) throw idRequired([type])
  const id = input[field]
  return resourceOf(type).find(tx, typeof id === 'string' ? id : '', field)
}

function idRequired(types: readonly ResourceType[]): AppError {
  const fields = types.flatMap((type) => factsOf(type).idFields).sort()
  return new AppError('invalid', `${fields.join(' or ')} is required`, {
    details:
      fields.length > 1 ? `Send one of the ${fields.length === 2 ? 'two' : fields.length}.` : undefined,
  })
}

interface Owners {
  account: Account
  environment?: Environment
  app?: AppRecord
}

/** The owner of an object; null if it was deleted. */
async function findOwners(tx: Tx, type: PolicyType, object: Located): Promise<Owners | null> {
  const { in: place, outlivesEnvironment } = factsOf(type)
  const account = await findAccount(tx, object.accountId!)
  if (!account) return null
  if (place !== 'environment' || outlivesEnvironment) return { account }
  const environment =
    type === 'environment'
      ? (object as Environment)
      : await findEnvironment(tx, { appEnvId: object.appEnvId })
  const stored = environment && (await findApp(tx, environment.appId))
  return stored ? { environment, app: stored.app, account } : null
}

async function findMembershipOf(
  tx: Tx,
  caller: Caller,
  accountId: string | null,
): Promise<Membership | null> {
  if (caller.kind !== 'user' || accountId === null) return null
  return narrowedMembership(tx, caller, await findMembership(tx, accountId, caller.userId))
}

/** An object of an account that the caller may already act on. */
async function loadWithin(
  { tx, input }: AccessRequest,
  type: PolicyType,
  account: Account,
): Promise<Located> {
  const object = await findNamed(tx, type, input)
  if (object?.accountId !== account.accountId) throw notFound(type)
  return object
}

function requirePermission(membership: Membership, needs: Permission | undefined): void {
  if (needs === 'admin' && !membership.admin) {
    throw new AppError('forbidden', 'Admin permission required', {
      details: 'Ask an admin of the account.',
      rule: 'A3',
    })
  }
  if (needs === 'manageMembers' && !membership.admin && !membership.manageMembers) {
    throw new AppError('forbidden', 'Manage Members permission required', {
      details: 'Ask an admin of the account.',
      rule: 'A4',
    })
  }
}

async function requireOperator(tx: Tx, userId: string): Promise<void> {
  if (await isOperator(tx, userId)) return
  throw new AppError('forbidden', 'Only operators may do this', {
    details: "Operators are the admins of the installation's first account; ask one of them.",
    rule: 'A3',
  })
}

/**
 * X1, A3: secrets in clear are for admins, and never for a read-only token: a secret it reads could allow
 * writes elsewhere.
 */
export function requireSecretsAccess(
  caller: Caller,
  membership: Membership | null,
  message: string,
  rule = 'A3',
): void {
  if (membership?.admin && !caller.token.readOnly) return
  throw new AppError('forbidden', message, {
    details: membership?.admin
      ? 'A read-only token shows no secrets. Use another token of yours.'
      : 'Read without secrets, or ask an admin of the account.',
    rule,
  })
}

/** M2 for one environment. */
export function requireAccess({ account, membership }: AccountTarget, appEnvId: string): void {
  if (!mayAccess(account, membership, appEnvId)) throw restricted('environment')
}

/** M2, M3: a restricted member sees an app with an accessible environment, or without any. */
export async function seesApp(
  tx: Tx,
  { account, membership }: AccountTarget,
  appId: string,
): Promise<boolean> {
  const only = visibleEnvironments(account, membership)
  if (only === null) return true
  const accessible = await listEnvironments(tx, { appId }, only)
  if (accessible.length > 0) return true
  const { agent } = membership
  return agent ? agent.appId === appId : !(await hasEnvironments(tx, appId))
}

export function restricted(type: ResourceType): AppError {
  return new AppError('forbidden', `You have no access to this ${factsOf(type).noun.toLowerCase()}`, {
    details: 'Access is restricted to certain environments; ask an admin of the account.',
    rule: 'M2',
  })
}

/** Byte-equal for an unknown id and for one of another account. */
export function notFound(type: ResourceType): AppError {
  const { noun, listedBy, idHint = 'Check the id (not a name)' } = factsOf(type)
  return new AppError('not-found', `${noun} not found`, {
    details: `${idHint}; ${listedBy} shows those you can reach.`,
  })
}
