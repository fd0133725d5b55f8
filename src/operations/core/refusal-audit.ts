import { type Clock, timestamp } from '../../clock.ts'
import { factsOf, typesNamedBy } from '../../contract/resources.ts'
import { decisionRecordOf } from '../../domain/policy/call.ts'
import { decisionShown } from '../../domain/policy/decide.ts'
import { AppError } from '../../errors.ts'
import type { Db, Tx } from '../../store/db.ts'
import { insertAuditEntry } from '../../store/repositories/audit.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { Call } from './call.ts'
import type { Caller } from './caller.ts'
import { originOf } from './origin.ts'
import { RateLimit } from './rate-limit.ts'
import type { Ruling } from './ruling.ts'

/** The facts of a failed call. */
export interface Trace {
  caller: Caller | null
  /** Set once the caller is known to belong to the account. */
  accountId: string | null
  /** Environments it would have changed. */
  wake: readonly string[]
  /** Set once a policy decided. */
  ruling?: Ruling
}

/** So that refused calls cannot fill the disk. Calls over this limit are still refused, but not recorded. */
const recorded = { perSecond: 0.5, burst: 60 }

/**
 * Whether an attempt gets an entry: the caller lacks the permission, or a rule forbids the call, such as scaling a function
 * by hand (F8). Malformed, late and unknown calls get none.
 */
function isRefusal(error: unknown): error is AppError {
  return error instanceof AppError && (error.kind === 'forbidden' || error.rule !== undefined)
}

/** Audit entries of writes and reads of secrets that were refused, so that an attempt leaves a trace too. */
export class RefusalAudit {
  readonly #db: Db
  readonly #clock: Clock
  readonly #secrets: SecretBox
  readonly #limit: RateLimit

  constructor({ db, clock, secrets }: { db: Db; clock: Clock; secrets: SecretBox }) {
    this.#db = db
    this.#clock = clock
    this.#secrets = secrets
    this.#limit = new RateLimit(recorded, clock)
  }

  /** Records the call if the error is a refusal. Never changes the answer. */
  async note(error: unknown, call: Call, trace: Trace): Promise<void> {
    if (isRefusal(error)) await this.record(call, trace)
  }

  /** Runs in a separate transaction after that of the call is rolled back. Never throws. */
  async record(call: Call, { caller, accountId, ruling }: Trace): Promise<void> {
    if (!caller) return
    if (this.#limit.take(caller.principal) > 0) return
    const entry = {
      at: timestamp(this.#clock.wallMs()),
      accountId,
      principal: caller.principal,
      ...originOf(caller, call),
      operation: call.operation.id,
      ...subjectOf(call),
      outcome: 'refused' as const,
      undid: null,
      impact: null,
      decision: ruling
        ? decisionRecordOf(ruling.facts, ruling.shown && decisionShown(ruling.shown), [])
        : null,
      before: null,
      after: null,
    }
    try {
      await this.#db.write(async (tx) => {
        const objectId = (await environmentIdOf(tx, call.input, accountId)) ?? entry.objectId
        await insertAuditEntry(tx, { ...entry, objectId }, this.#secrets)
      })
    } catch {
      // The store is unavailable or full. The caller still gets the refusal.
    }
  }
}

/** The id of an environment named by `envName`, so that refused and done calls are recorded under the same id. */
async function environmentIdOf(
  tx: Tx,
  { appEnvId, envName }: Record<string, unknown>,
  accountId: string | null,
): Promise<string | null> {
  if (typeof appEnvId === 'string' || typeof envName !== 'string' || accountId === null) return null
  const environment = await findEnvironment(tx, { envName })
  return environment?.accountId === accountId ? environment.appEnvId : null
}

/** The object of a call as its policy names it; otherwise the installation. */
export function subjectOf({ operation, input }: Pick<Call, 'operation' | 'input'>): {
  objectType: string
  objectId: string
} {
  for (const type of typesNamedBy(operation.policy.on)) {
    const { auditName, idFields } = factsOf(type)
    const objectId = idFields.map((field) => input[field]).find((value) => typeof value === 'string')
    if (typeof objectId === 'string') return { objectType: auditName, objectId }
  }
  return { objectType: 'installation', objectId: '' }
}
