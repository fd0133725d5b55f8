import { type Clock, timestamp } from '../clock.ts'
import { AppError } from '../errors.ts'
import type { Db, Tx } from '../store/db.ts'
import { findEnvironment } from '../store/environments.ts'
import { insertJournalEntry } from '../store/journal.ts'
import type { SecretBox } from '../store/secret-box.ts'
import type { Call } from './call.ts'
import type { Caller } from './caller.ts'
import { RateLimit } from './rate-limit.ts'

/** What became known of a write before it failed. */
export interface Trace {
  caller: Caller | null
  /** Set once the caller is known to belong to the account. */
  accountId: string | null
}

/** So that nobody fills the disk by being refused: what is above this is refused all the same, untold. */
const recorded = { perSecond: 0.5, burst: 60 }

/** Journal entries of writes that were refused for want of permission, so that trying leaves a trace too. */
export class RefusalJournal {
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

  /** In a transaction of its own, after the refused one is rolled back. Never changes the answer. */
  async note(error: unknown, call: Call, { caller, accountId }: Trace): Promise<void> {
    if (!(error instanceof AppError) || error.kind !== 'forbidden' || !caller) return
    if (this.#limit.take(caller.principal) > 0) return
    const entry = {
      at: timestamp(this.#clock.wallMs()),
      accountId,
      principal: caller.principal,
      surface: call.surface,
      operation: call.operation.id,
      ...objectOf(call.input),
      outcome: 'refused' as const,
      before: null,
      after: null,
    }
    try {
      await this.#db.write(async (tx) => {
        const objectId = (await environmentIdOf(tx, call.input, accountId)) ?? entry.objectId
        await insertJournalEntry(tx, { ...entry, objectId }, this.#secrets)
      })
    } catch {
      // The store is away or full: the refusal stands, and the caller is told of that one.
    }
  }
}

/** The id of an environment that was named by `envName`, so that what was refused on it stands with what was done. */
async function environmentIdOf(
  tx: Tx,
  { appEnvId, envName }: Record<string, unknown>,
  accountId: string | null,
): Promise<string | null> {
  if (typeof appEnvId === 'string' || typeof envName !== 'string' || accountId === null) return null
  const environment = await findEnvironment(tx, { envName })
  return environment?.accountId === accountId ? environment.appEnvId : null
}

const objectTypes = {
  membershipId: 'membership',
  appEnvId: 'app-env',
  envName: 'app-env',
  contactPointId: 'contact-point',
  alertId: 'alert',
  jobRunId: 'job-run',
  entryId: 'journal-entry',
  appId: 'app',
  accountId: 'account',
} as const

function objectOf(input: Record<string, unknown>): { objectType: string; objectId: string } {
  for (const [key, objectType] of Object.entries(objectTypes)) {
    const objectId = input[key]
    if (typeof objectId === 'string') return { objectType, objectId }
  }
  return { objectType: 'installation', objectId: '' }
}
