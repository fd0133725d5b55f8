import type { App } from '../contract/apps.ts'
import type { Operation, Policy } from '../contract/operation.ts'
import type { StoredAlert } from '../domain/alert.ts'
import type { Backup } from '../domain/backup.ts'
import type { StoredContactPoint } from '../domain/contact-point.ts'
import type { Environment } from '../domain/environment.ts'
import type { JobRun } from '../domain/job-run.ts'
import type { Account, Membership } from '../store/accounts.ts'
import type { Tx } from '../store/db.ts'
import type { StoredJournalEntry } from '../store/journal.ts'
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
