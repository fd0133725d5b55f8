import type { App } from '../contract/apps.ts'
import { isRead, type Operation, type Policy } from '../contract/operation.ts'
import type { StoredAlert } from '../domain/alert.ts'
import type { Backup } from '../domain/backup.ts'
import type { StoredContactPoint } from '../domain/contact-point.ts'
import type { Environment } from '../domain/environment.ts'
import type { JobRun } from '../domain/job-run.ts'
import { AppError } from '../errors.ts'
import {
  type Account,
  findAccount,
  findMembership,
  findMembershipById,
  type Membership,
} from '../store/accounts.ts'
import { findAlert } from '../store/alerts.ts'
import { findApp } from '../store/apps.ts'
import { findBackup } from '../store/backups.ts'
import { findContactPoint } from '../store/contact-points.ts'
import type { Tx } from '../store/db.ts'
import { findEnvironment, hasEnvironments, listEnvironments } from '../store/environments.ts'
import { findJobRun } from '../store/job-runs.ts'
import { findJournalEntry, type StoredJournalEntry } from '../store/journal.ts'
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

export interface MemberTarget extends AccountTarget {
  /** The membership acted on; `membership` is the caller's own. */
  member: Membership
}
export interface ContactPointTarget extends AccountTarget {
  contactPoint: StoredContactPoint
}
export interface AlertTarget extends EnvironmentTarget {
  alert: StoredAlert
  membership: Membership
}

export interface JournalEntryTarget extends AccountTarget {
  entry: StoredJournalEntry
}

export interface JobRunTarget extends EnvironmentTarget {
  jobRun: JobRun
}

export interface BackupTarget extends AccountTarget {
  backup: Backup
}

/** What an operation may act on, loaded, once the caller is known to be allowed; by what its policy is on. */
interface Targets {
  installation: Record<string, never>
  account: AccountTarget
  'account-or-app': AccountTarget & { app: App | null }
  app: AppTarget
  'new-environment': AppTarget
  environment: EnvironmentTarget
  member: MemberTarget
  'contact-point': ContactPointTarget
  alert: AlertTarget
  'journal-entry': JournalEntryTarget
  'job-run': JobRunTarget
  backup: BackupTarget
}

export type TargetOf<P extends Policy> = Targets[P['on']]
export type Target = Targets[Policy['on']]

/** One question to the authorisation: who wants to do what. */
export interface Asking {
  tx: Tx
  caller: Caller
  operation: Operation
  input: Record<string, unknown>
  /** Called once the caller is known to belong to an account, also when the answer will be no: for the journal. */
  reached?: (accountId: string) => void
}

/**
 * The one authorisation function (goals.md): every row's policy comes here, from every surface. An object of an
 * account the caller is not in is answered as an unknown one (contract.md 1).
 */
export async function authorise(asking: Asking): Promise<Target> {
  const { caller, operation, input } = asking
  const { policy } = operation
  // First of all, before anything is looked up: so it says nothing about what there is.
  if (caller.token.readOnly && !isRead(operation)) throw readOnlyToken()
  if (caller.kind === 'environment') return authoriseEnvironmentToken(asking, caller, policy)
  switch (policy.on) {
    case 'installation':
      return {}
    case 'account': {
      const target = await reachAccount(asking, text(input.accountId))
      requirePermission(target.membership, policy.needs)
      return target
    }
    case 'member': {
      const target = await reachAccount(asking, text(input.accountId))
      requirePermission(target.membership, policy.needs)
      return { ...target, member: await reachMember(asking, target.account) }
    }
    case 'backup': {
      const target = await reachBackup(asking, text(input.backupId))
      requirePermission(target.membership, policy.needs)
      return target
    }
    case 'journal-entry': {
      const target = await reachJournalEntry(asking)
      requirePermission(target.membership, policy.needs)
      return target
    }
    case 'app':
      return reachApp(asking, text(input.appId))
    case 'account-or-app': {
      if (input.appId !== undefined) return reachApp(asking, text(input.appId))
      if (input.accountId === undefined) {
        throw new AppError('invalid', 'accountId or appId is required', { details: 'Send one of the two.' })
      }
      return { ...(await reachAccount(asking, text(input.accountId))), app: null }
    }
    case 'new-environment': {
      const target = await reachApp(asking, text(input.appId))
      if (target.account.accountId !== input.accountId) throw notFound('App')
      return target
    }
    case 'contact-point': {
      const target = await reachContactPoint(asking, text(input.contactPointId))
      requirePermission(target.membership, policy.needs)
      return target
    }
    case 'alert': {
      const target = await reachAlert(asking, text(input.alertId))
      requirePermission(target.membership, policy.needs)
      return target
    }
    case 'job-run': {
      const jobRun = await findJobRun(asking.tx, text(input.jobRunId))
      if (!jobRun) throw notFound('Job run')
      const target = await reachEnvironment(asking, { appEnvId: jobRun.appEnvId }, 'Job run')
      return { ...target, jobRun }
    }
    case 'environment': {
      const target = await reachEnvironment(asking, input)
      requirePermission(target.membership, policy.needs)
      return target
    }
  }
}

/** Whether per-environment access is off, the member is unrestricted, or the environment is on the list (M1, M5). */
export function mayReach(account: Account, membership: Membership, appEnvId: string): boolean {
  return !isRestricted(account, membership) || membership.allowedAppEnvIds.includes(appEnvId)
}

/** M2, where the environment is known only after the object was read. */
export function requireReach({ account, membership }: AccountTarget, appEnvId: string): void {
  if (!mayReach(account, membership, appEnvId)) throw restricted('app environment')
}

export function isRestricted(account: Account, membership: Membership): boolean {
  return account.settings.memberEnvAccessEnabled && membership.allowedAppEnvIds.length > 0
}

/** X1, A3: secrets in clear are for admins, and never for a read-only token: what it reads could write elsewhere. */
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

export type Noun =
  | 'Account'
  | 'App'
  | 'App environment'
  | 'Member'
  | 'Audit entry'
  | 'Token'
  | 'Contact point'
  | 'Alert'
  | 'Job run'
  | 'Backup'

/** Byte-equal for an unknown id and for one of another account. */
export function notFound(noun: Noun): AppError {
  return new AppError('not-found', `${noun} not found`, {
    details:
      noun === 'App environment'
        ? 'Check appEnvId or envName (its cliEnvName, not the name of its app); list-app-envs shows those you can reach.'
        : 'Check the id; lists show what you can reach.',
  })
}

/** The caller's membership in an account; null means that nothing of the account exists for this caller. */
async function membershipOf(asking: Asking, accountId: string): Promise<Membership | null> {
  if (asking.caller.kind !== 'user') return null
  const membership = await findMembership(asking.tx, accountId, asking.caller.userId)
  if (membership) asking.reached?.(accountId)
  return membership
}

async function reachAccount(asking: Asking, accountId: string): Promise<AccountTarget> {
  const membership = await membershipOf(asking, accountId)
  const account = membership && (await findAccount(asking.tx, accountId))
  if (!membership || !account) throw notFound('Account')
  return { account, membership }
}

async function reachMember({ tx, input }: Asking, account: Account): Promise<Membership> {
  const member = await findMembershipById(tx, text(input.membershipId))
  if (!member || member.accountId !== account.accountId) throw notFound('Member')
  return member
}

async function reachJournalEntry(asking: Asking): Promise<JournalEntryTarget> {
  const { tx, input } = asking
  const entry = await findJournalEntry(tx, text(input.entryId))
  const membership = entry?.accountId ? await membershipOf(asking, entry.accountId) : null
  const account = membership && (await findAccount(tx, membership.accountId))
  if (!entry || !membership || !account) throw notFound('Audit entry')
  return { entry, account, membership }
}

async function reachApp(asking: Asking, appId: string): Promise<AppTarget> {
  const { tx } = asking
  const stored = await findApp(tx, appId)
  const membership = stored && (await membershipOf(asking, stored.app.accountId))
  const account = membership && (await findAccount(tx, stored.app.accountId))
  if (!stored || !membership || !account) throw notFound('App')
  if (isRestricted(account, membership)) {
    const visible = await listEnvironments(tx, { appId }, membership.allowedAppEnvIds)
    if (visible.length === 0 && (await hasEnvironments(tx, appId))) throw restricted('app')
  }
  return { app: stored.app, account, membership }
}

/** The pattern for every object: unknown and foreign are one case and one answer; only then come permissions. */
async function reachEnvironment(
  asking: Asking,
  ref: Record<string, unknown>,
  noun: Noun = 'App environment',
): Promise<EnvironmentTarget & { membership: Membership }> {
  const { tx } = asking
  const environment = await findEnvironment(tx, environmentRef(ref))
  const membership = environment && (await membershipOf(asking, environment.accountId))
  const loaded = membership && (await loadAround(tx, environment))
  if (!environment || !membership || !loaded) throw notFound(noun)
  if (!mayReach(loaded.account, membership, environment.appEnvId)) throw restricted('app environment')
  return { environment, ...loaded, membership }
}

async function reachContactPoint(asking: Asking, contactPointId: string): Promise<ContactPointTarget> {
  const contactPoint = await findContactPoint(asking.tx, contactPointId)
  const membership = contactPoint && (await membershipOf(asking, contactPoint.accountId))
  const account = membership && (await findAccount(asking.tx, contactPoint.accountId))
  if (!contactPoint || !membership || !account) throw notFound('Contact point')
  return { contactPoint, account, membership }
}

/** Its environment may be gone; whoever could not see that one does not see its data either. */
export async function reachBackup(asking: Asking, backupId: string): Promise<BackupTarget> {
  const backup = await findBackup(asking.tx, backupId)
  const membership = backup && (await membershipOf(asking, backup.accountId))
  const account = membership && (await findAccount(asking.tx, backup.accountId))
  if (!backup || !membership || !account) throw notFound('Backup')
  requireReach({ account, membership }, backup.appEnvId)
  return { backup, account, membership }
}

async function reachAlert(asking: Asking, alertId: string): Promise<AlertTarget> {
  const alert = await findAlert(asking.tx, alertId)
  if (!alert || !(await membershipOf(asking, alert.accountId))) throw notFound('Alert')
  return { alert, ...(await reachEnvironment(asking, { appEnvId: alert.appEnvId })) }
}

async function loadAround(tx: Tx, environment: Environment): Promise<{ app: App; account: Account } | null> {
  const stored = await findApp(tx, environment.appId)
  const account = await findAccount(tx, environment.accountId)
  return stored && account ? { app: stored.app, account } : null
}

/** A2: only where the row says so, and only on the token's own environment. */
async function authoriseEnvironmentToken(
  asking: Asking,
  caller: Caller & { kind: 'environment' },
  policy: Policy,
): Promise<Target> {
  const { tx } = asking
  const own = await findEnvironment(tx, { appEnvId: caller.appEnvId })
  if (!own) {
    throw new AppError('unauthenticated', 'User not authenticated', {
      details: 'The token is unknown or revoked.',
    })
  }
  asking.reached?.(own.accountId)
  if (!('environmentToken' in policy)) {
    throw new AppError('forbidden', 'This operation needs a user token', {
      details: 'An environment token may deploy to and read its own environment only.',
      rule: 'A2',
    })
  }
  if (policy.on === 'installation') return {}
  const isRun = policy.on === 'job-run'
  const jobRun = isRun ? await findJobRun(tx, text(asking.input.jobRunId)) : null
  const ref = isRun ? { appEnvId: jobRun?.appEnvId ?? '' } : environmentRef(asking.input)
  const environment = await findEnvironment(tx, ref)
  if (environment?.appEnvId === own.appEnvId) {
    const loaded = await loadAround(tx, environment)
    if (loaded) return { environment, ...loaded, membership: null, ...(jobRun ? { jobRun } : {}) }
  }
  if (!environment || environment.accountId !== own.accountId)
    throw notFound(isRun ? 'Job run' : 'App environment')
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

/** The token's own limit, whatever its owner may. */
function readOnlyToken(): AppError {
  return new AppError('forbidden', 'This token is read-only', {
    details: 'It can call reads (GET) only. Use a token that was made without --read-only.',
    rule: 'read-only-token',
  })
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
