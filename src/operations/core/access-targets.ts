import type { Operation, Policy } from '../../contract/operation.ts'
import type { EnvironmentType, resources as facts, PolicyType } from '../../contract/resources.ts'
import type { AppRecord } from '../../domain/apps/app-settings.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import type { Tx } from '../../store/db.ts'
import type { Account, Membership } from '../../store/repositories/accounts.ts'
import type { Caller } from './caller.ts'
import type { StoredAs } from './resources.ts'

/** An account, with the membership of the caller. */
export interface AccountTarget {
  account: Account
  membership: Membership
}
export interface AppTarget extends AccountTarget {
  app: AppRecord
}
export interface EnvironmentTarget {
  environment: Environment
  app: AppRecord
  account: Account
  /** Null for an environment token. */
  membership: Membership | null
}

/** The object of a type, under its key, with its parents. */
export type TargetOn<T extends PolicyType, Member = Membership> = {
  [K in (typeof facts)[T]['key']]: StoredAs<T>
} & { account: Account; membership: Member } & (T extends EnvironmentType
    ? { environment: Environment; app: AppRecord }
    : unknown)

/** The loaded objects that a handler gets once the caller is authorized, by the object of its policy. */
export type TargetOf<P extends Policy> = P['on'] extends PolicyType
  ? TargetOn<P['on'], P extends { environmentToken: true } ? Membership | null : Membership>
  : P['on'] extends 'new-environment'
    ? AppTarget
    : P['on'] extends 'account-or-app'
      ? AccountTarget & { app: AppRecord | null }
      : P['on'] extends 'environments'
        ? AccountTarget & { app: AppRecord | null; environment: Environment | null }
        : P['on'] extends 'whole-account'
          ? AccountTarget
          : Record<string, never>

/** A target with its types erased: objects by their keys. */
export type Target = Record<string, unknown>

/** Input of one authorization check. */
export interface AccessRequest {
  tx: Tx
  caller: Caller
  operation: Operation
  input: Record<string, unknown>
  dryRun?: boolean
  /** Called once the caller is known to belong to an account, also when the call is then refused: for the audit log. */
  onAccount?: (accountId: string) => void
}
