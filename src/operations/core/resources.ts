import { resources as facts, type PolicyType } from '../../contract/resources.ts'
import type { StoredAlert } from '../../domain/alerts/alert.ts'
import type { StoredContactPoint } from '../../domain/alerts/contact-point.ts'
import type { StoredApproval } from '../../domain/approvals/approval.ts'
import type { AppRecord } from '../../domain/apps/app-settings.ts'
import type { Backup } from '../../domain/backups/backup.ts'
import type { StoredChatConnection } from '../../domain/chat/connection.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import type { JobRun } from '../../domain/jobs/run.ts'
import type { StoredRemediation, StoredRun } from '../../domain/remediation/remediation.ts'
import type { Tx } from '../../store/db.ts'
import {
  type Account,
  findAccount,
  findMembershipById,
  type Membership,
} from '../../store/repositories/accounts.ts'
import { findAlert } from '../../store/repositories/alerts.ts'
import { findApproval } from '../../store/repositories/approvals.ts'
import { findApp } from '../../store/repositories/apps.ts'
import { findAuditEntry, type StoredAuditEntry } from '../../store/repositories/audit.ts'
import { findBackup } from '../../store/repositories/backups.ts'
import { findChatConnection } from '../../store/repositories/chat-connections.ts'
import { findChatUser, type StoredChatUser } from '../../store/repositories/chat-users.ts'
import { findContactPoint } from '../../store/repositories/contact-points.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { findJobRun } from '../../store/repositories/job-runs.ts'
import { findPolicyOfAccount, type StoredPolicy } from '../../store/repositories/policies.ts'
import { findRun } from '../../store/repositories/remediation-runs.ts'
import { findRemediation } from '../../store/repositories/remediations.ts'

/** Where a stored object belongs. */
export interface Located {
  /** Null for an audit entry of no account. */
  accountId: string | null
  appId?: string
  appEnvId?: string
}

/** The behavior of one object type, beside its facts in `src/contract/resources.ts`. */
interface Resource<Stored extends Located> {
  /** `field` is the input that `id` was given in, for types with several. */
  find(tx: Tx, id: string, field?: string): Promise<Stored | null>
  /** The value that `expectedRevision` is compared with; left out for objects that no caller changes. */
  revision?(object: Stored): number
}

function resource<Stored extends Located>(row: Resource<Stored>): Resource<Stored> {
  return row
}

const revision = (object: { revision: number }) => object.revision

/** One row for each type that a policy can be on; a missing row does not compile. */
const resources = {
  account: resource<Account>({ find: findAccount, revision }),
  app: resource<AppRecord>({ find: async (tx, id) => (await findApp(tx, id))?.app ?? null, revision }),
  environment: resource<Environment>({
    find: (tx, id, field = 'appEnvId') => findEnvironment(tx, { [field]: id }),
    revision,
  }),
  member: resource<Membership>({ find: findMembershipById, revision }),
  'contact-point': resource<StoredContactPoint>({ find: findContactPoint, revision }),
  alert: resource<StoredAlert>({ find: findAlert, revision }),
  'job-run': resource<JobRun>({ find: findJobRun }),
  backup: resource<Backup>({ find: findBackup }),
  'audit-entry': resource<StoredAuditEntry>({ find: findAuditEntry }),
  policy: resource<StoredPolicy>({ find: findPolicyOfAccount, revision }),
  approval: resource<StoredApproval>({ find: findApproval }),
  'chat-connection': resource<StoredChatConnection>({ find: findChatConnection, revision }),
  'chat-user': resource<StoredChatUser>({ find: findChatUser }),
  remediation: resource<StoredRemediation>({ find: findRemediation, revision }),
  'remediation-run': resource<StoredRun>({ find: findRun }),
  // New rows go above this line.
} satisfies Record<PolicyType, Resource<Located>>

/** The stored object of a type. */
export type StoredAs<T extends PolicyType> = NonNullable<Awaited<ReturnType<(typeof resources)[T]['find']>>>

/** A row with its types erased. */
export function resourceOf(type: PolicyType): Resource<Located> {
  return resources[type]
}

/** The type that the audit log records under this name; null for one that no policy is on. */
export function typeRecordedAs(auditName: string): PolicyType | null {
  const types = Object.keys(resources) as PolicyType[]
  return types.find((type) => facts[type].auditName === auditName) ?? null
}
