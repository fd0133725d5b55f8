import type { App } from '../contract/apps.ts'
import type { Policy } from '../contract/operation.ts'
import type { Environment } from '../domain/environment.ts'
import { AppError } from '../errors.ts'
import { type Account, findAccount, findMembership, type Membership } from '../store/accounts.ts'
import { findApp } from '../store/apps.ts'
import type { Tx } from '../store/db.ts'
import { findEnvironment, listEnvironmentIds } from '../store/environments.ts'
import type { Caller } from './caller.ts'

export interface AccountTarget {
  account: Account
  membership: Membership
}
export interface AppTarget extends AccountTarget {
  app: App
}
export interface EnvironmentTarget {
  environment: Environment
  app: App
  account: Account
  /** Null for an environment token. */
  membership: Membership | null
}

/** What an operation may act on, loaded, once the caller is known to be allowed. */
export type TargetOf<P extends Policy> = P extends { on: 'environment' }
  ? EnvironmentTarget
  : P extends { on: 'app' | 'new-environment' }
    ? AppTarget
    : P extends { on: 'account-or-app' }
      ? AccountTarget & { app: App | null }
      : P extends { on: 'account' }
        ? AccountTarget
        : Record<string, never>

export type Target =
  | EnvironmentTarget
  | AppTarget
  | (AccountTarget & { app: App | null })
  | AccountTarget
  | Record<string, never>

/**
 * The one authorisation function (goals.md): every row's policy comes here, from every surface. An object of an
 * account the caller is not in is answered as an unknown one (contract.md 1).
 */
export async function authorise(
  tx: Tx,
  caller: Caller,
  policy: Policy,
  input: Record<string, unknown>,
): Promise<Target> {
  if (caller.kind === 'environment') return authoriseEnvironmentToken(tx, caller, policy, input)
  switch (policy.on) {
    case 'installation':
      return {}
    case 'account': {
      const target = await reachAccount(tx, caller.userId, text(input.accountId))
      requirePermission(target.membership, policy.needs)
      return target
    }
    case 'app':
      return reachApp(tx, caller.userId, text(input.appId))
    case 'account-or-app': {
      if (input.appId !== undefined) return reachApp(tx, caller.userId, text(input.appId))
      if (input.accountId === undefined) {
        throw new AppError('invalid', 'accountId or appId is required', { details: 'Send one of the two.' })
      }
      return { ...(await reachAccount(tx, caller.userId, text(input.accountId))), app: null }
    }
    case 'new-environment': {
      const target = await reachApp(tx, caller.userId, text(input.appId))
      if (target.account.accountId !== input.accountId) throw notFound('App')
      return target
    }
    case 'environment': {
      const target = await reachEnvironment(tx, caller.userId, input)
      requirePermission(target.membership, policy.needs)
      return target
    }
  }
}

/** Whether per-environment access is off, the member is unrestricted, or the environment is on the list (M1, M5). */
export function mayReach(account: Account, membership: Membership, appEnvId: string): boolean {
  return !isRestricted(account, membership) || membership.allowedAppEnvIds.includes(appEnvId)
}

export function isRestricted(account: Account, membership: Membership): boolean {
  return account.settings.memberEnvAccessEnabled && membership.allowedAppEnvIds.length > 0
}

/** Byte-equal for an unknown id and for one of another account. */
export function notFound(noun: 'Account' | 'App' | 'App environment'): AppError {
  return new AppError('not-found', `${noun} not found`, {
    details: 'Check the id; lists show what you can reach.',
  })
}

async function reachAccount(tx: Tx, userId: string, accountId: string): Promise<AccountTarget> {
  const membership = await findMembership(tx, accountId, userId)
  const account = membership && (await findAccount(tx, accountId))
  if (!membership || !account) throw notFound('Account')
  return { account, membership }
}

async function reachApp(tx: Tx, userId: string, appId: string): Promise<AppTarget> {
  const stored = await findApp(tx, appId)
  const membership = stored && (await findMembership(tx, stored.app.accountId, userId))
  const account = membership && (await findAccount(tx, stored.app.accountId))
  if (!stored || !membership || !account) throw notFound('App')
  if (isRestricted(account, membership)) {
    const environments = await listEnvironmentIds(tx, { appId })
    const hidden = environments.every(({ appEnvId }) => !mayReach(account, membership, appEnvId))
    if (environments.length > 0 && hidden) throw restricted('app')
  }
  return { app: stored.app, account, membership }
}

async function reachEnvironment(
  tx: Tx,
  userId: string,
  input: Record<string, unknown>,
): Promise<EnvironmentTarget & { membership: Membership }> {
  const environment = await findEnvironment(tx, environmentRef(input))
  const membership = environment && (await findMembership(tx, environment.accountId, userId))
  const loaded = membership && (await loadAround(tx, environment))
  if (!environment || !membership || !loaded) throw notFound('App environment')
  if (!mayReach(loaded.account, membership, environment.appEnvId)) throw restricted('app environment')
  return { environment, ...loaded, membership }
}

async function loadAround(tx: Tx, environment: Environment): Promise<{ app: App; account: Account } | null> {
  const stored = await findApp(tx, environment.appId)
  const account = await findAccount(tx, environment.accountId)
  return stored && account ? { app: stored.app, account } : null
}

/** A2: only where the row says so, and only on the token's own environment. */
async function authoriseEnvironmentToken(
  tx: Tx,
  caller: Caller & { kind: 'environment' },
  policy: Policy,
  input: Record<string, unknown>,
): Promise<Target> {
  const own = await findEnvironment(tx, { appEnvId: caller.appEnvId })
  if (!own)
    throw new AppError('unauthenticated', 'Not authenticated', {
      details: 'The token is unknown or revoked.',
    })
  const allowed = (policy.on === 'environment' || policy.on === 'installation') && policy.environmentToken
  if (!allowed) {
    throw new AppError('forbidden', 'This operation needs a user token', {
      details: 'An environment token may deploy to and read its own environment only.',
      rule: 'A2',
    })
  }
  if (policy.on === 'installation') return {}
  const environment = await findEnvironment(tx, environmentRef(input))
  if (environment?.appEnvId === own.appEnvId) {
    const loaded = await loadAround(tx, environment)
    if (loaded) return { environment, ...loaded, membership: null }
  }
  if (!environment || environment.accountId !== own.accountId) throw notFound('App environment')
  throw new AppError('forbidden', 'This token belongs to another environment', {
    details: 'Use the token of this environment, or a user token.',
    rule: 'A2',
  })
}

function environmentRef(input: Record<string, unknown>): { appEnvId?: string; envName?: string } {
  if (input.appEnvId !== undefined) return { appEnvId: text(input.appEnvId) }
  if (input.envName !== undefined) return { envName: text(input.envName) }
  throw new AppError('invalid', 'appEnvId or envName is required', { details: 'Send one of the two.' })
}

function requirePermission(membership: Membership, needs: 'admin' | 'manageMembers' | undefined): void {
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

function restricted(noun: string): AppError {
  return new AppError('forbidden', `You have no access to this ${noun}`, {
    details: 'Access is restricted to certain environments; ask an admin of the account.',
    rule: 'M2',
  })
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
