import type { App } from '../contract/apps.ts'
import type { Environment } from '../domain/environment.ts'
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
import { findJournalEntry } from '../store/journal.ts'
import type {
  AccountTarget,
  AlertTarget,
  AppTarget,
  Asking,
  BackupTarget,
  ContactPointTarget,
  EnvironmentTarget,
  JournalEntryTarget,
} from './access-targets.ts'

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
        ? 'Check appEnvId (env_…) or envName (its cliEnvName, not the name of its app); list-app-envs shows those you can reach.'
        : `Check the id (not a name); ${listOf[noun]} shows those you can reach.`,
  })
}

/** Where the ids of a kind stand. */
const listOf: Readonly<Record<Exclude<Noun, 'App environment'>, string>> = {
  Account: 'list-accounts',
  App: 'list-apps',
  Member: 'list-members',
  'Audit entry': 'list-audit',
  Token: 'list-user-tokens',
  'Contact point': 'list-contact-points',
  Alert: 'list-alerts',
  'Job run': 'list-job-runs',
  Backup: 'list-app-env-backups',
}

/** The caller's membership in an account; null means that nothing of the account exists for this caller. */
async function membershipOf(asking: Asking, accountId: string): Promise<Membership | null> {
  if (asking.caller.kind !== 'user') return null
  const membership = await findMembership(asking.tx, accountId, asking.caller.userId)
  if (membership) asking.reached?.(accountId)
  return membership
}

export async function reachAccount(asking: Asking, accountId: string): Promise<AccountTarget> {
  const membership = await membershipOf(asking, accountId)
  const account = membership && (await findAccount(asking.tx, accountId))
  if (!membership || !account) throw notFound('Account')
  return { account, membership }
}

export async function reachMember({ tx, input }: Asking, account: Account): Promise<Membership> {
  const member = await findMembershipById(tx, text(input.membershipId))
  if (!member || member.accountId !== account.accountId) throw notFound('Member')
  return member
}

export async function reachJournalEntry(asking: Asking): Promise<JournalEntryTarget> {
  const { tx, input } = asking
  const entry = await findJournalEntry(tx, text(input.entryId))
  const membership = entry?.accountId ? await membershipOf(asking, entry.accountId) : null
  const account = membership && (await findAccount(tx, membership.accountId))
  if (!entry || !membership || !account) throw notFound('Audit entry')
  return { entry, account, membership }
}

export async function reachApp(asking: Asking, appId: string): Promise<AppTarget> {
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
export async function reachEnvironment(
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

export async function reachContactPoint(asking: Asking, contactPointId: string): Promise<ContactPointTarget> {
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

export async function reachAlert(asking: Asking, alertId: string): Promise<AlertTarget> {
  const alert = await findAlert(asking.tx, alertId)
  if (!alert || !(await membershipOf(asking, alert.accountId))) throw notFound('Alert')
  return { alert, ...(await reachEnvironment(asking, { appEnvId: alert.appEnvId })) }
}

export async function loadAround(
  tx: Tx,
  environment: Environment,
): Promise<{ app: App; account: Account } | null> {
  const stored = await findApp(tx, environment.appId)
  const account = await findAccount(tx, environment.accountId)
  return stored && account ? { app: stored.app, account } : null
}

export function environmentRef(input: Record<string, unknown>): { appEnvId?: string; envName?: string } {
  if (input.appEnvId !== undefined) return { appEnvId: text(input.appEnvId) }
  if (input.envName !== undefined) return { envName: text(input.envName) }
  throw new AppError('invalid', 'appEnvId or envName is required', { details: 'Send one of the two.' })
}

function restricted(noun: string): AppError {
  return new AppError('forbidden', `You have no access to this ${noun}`, {
    details: 'Access is restricted to certain environments; ask an admin of the account.',
    rule: 'M2',
  })
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
