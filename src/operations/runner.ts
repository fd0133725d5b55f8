import { createHash } from 'node:crypto'
import { type Clock, timestamp } from '../clock.ts'
import { isRead } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import type { MeasuredValues } from '../metrics/metric-source.ts'
import type { Db, Tx } from '../store/db.ts'
import { findKeptAnswer, type KeptAnswer, keepAnswer } from '../store/idempotency.ts'
import { insertJournalEntry } from '../store/journal.ts'
import type { SecretBox } from '../store/secret-box.ts'
import type { Target } from './access-targets.ts'
import { authorise } from './authorise.ts'
import type { Approach, Call, OperationRunner, Reply } from './call.ts'
import { type Caller, callerOf } from './caller.ts'
import { changedPaths } from './changes.ts'
import { checkHandlers } from './check-handlers.ts'
import type {
  Context,
  FunctionProber,
  Handler,
  Installation,
  LogReader,
  NoticeSender,
  Outcome,
} from './handler.ts'
import { defaultRateLimits, RateLimit, type RateLimits, rateLimited } from './rate-limit.ts'
import { RefusalJournal, type Trace } from './refusal-journal.ts'

export interface RunnerParts {
  db: Db
  clock: Clock
  secrets: SecretBox
  logs: LogReader
  metrics: MeasuredValues
  notices: NoticeSender
  prober: FunctionProber
  installation: Installation
  handlers: readonly Handler[]
  /** Tells the reconciler which environments changed, after the transaction is stored. */
  wake: (appEnvIds: readonly string[]) => void
  rateLimits?: RateLimits
}

/**
 * Runs operations: caller, access, rule, save, journal entry and kept answer in one transaction, so a crash
 * loses nothing acknowledged and a dry run is the same transaction rolled back.
 */
export function createRunner(parts: RunnerParts): OperationRunner {
  const handlers = checkHandlers(parts.handlers)
  const refusals = new RefusalJournal(parts)

  async function run(call: Call): Promise<Reply> {
    const handler = handlers.get(call.operation.id)
    if (!handler) throw new Error(`no handler for ${call.operation.id}`)
    if (isRead(call.operation)) return parts.db.read((tx) => runRead(parts, tx, handler, call))
    if (call.dryRun) return parts.db.rehearse((tx) => runDry(parts, tx, handler, call))
    const { reply, wake, settle, keep } = await write(handler, call)
    if (wake.length > 0) parts.wake(wake)
    parts.notices.wake()
    if (!settle) return reply
    const settled = { status: 200, body: JSON.stringify(await settle()) }
    await parts.db.write((tx) => keep(tx, settled))
    return settled
  }

  async function write(handler: Handler, call: Call): Promise<Written> {
    const trace: Trace = { caller: null, accountId: null }
    try {
      return await parts.db.write((tx) => runWrite(parts, tx, handler, call, trace))
    } catch (error) {
      await refusals.note(error, call, trace)
      throw error
    }
  }

  return { run, authenticate: createAuthenticate(parts) }
}

function createAuthenticate({ db, clock, rateLimits = defaultRateLimits }: RunnerParts) {
  const writes = new RateLimit(rateLimits.writes, clock)
  const reads = new RateLimit(rateLimits.reads, clock)
  const failures = new RateLimit(rateLimits.failures, clock)
  return async (token: string | null, approach?: Approach): Promise<void> => {
    const address = approach?.address ?? ''
    let caller: Caller
    try {
      caller = await db.read((tx) => callerOf(tx, token))
    } catch (error) {
      // A good token is never held up by others who come from the same address with bad ones.
      const unknown = error instanceof AppError && error.kind === 'unauthenticated'
      const wait = unknown ? failures.take(address) : 0
      throw wait > 0 ? rateLimited(wait) : error
    }
    if (approach === undefined) return
    const wait = (approach.reads ? reads : writes).take(caller.principal)
    if (wait > 0) throw rateLimited(wait)
  }
}

async function runRead(parts: RunnerParts, tx: Tx, handler: Handler, call: Call): Promise<Reply> {
  const { context, target } = await admit(parts, tx, call)
  const outcome = await handler.run(context, call.input, target)
  return { status: 200, body: JSON.stringify(outcome.answer) }
}

async function runDry(parts: RunnerParts, tx: Tx, handler: Handler, call: Call): Promise<Reply> {
  const { context, target } = await admit(parts, tx, call)
  const outcome = await handler.run(context, call.input, target)
  const changes = outcome.change ? changedPaths(outcome.change.before, outcome.change.after) : []
  const foreseen = await outcome.foresee?.()
  const effects = [...(outcome.effects ?? []), ...(foreseen?.effects ?? [])]
  return { status: 200, body: JSON.stringify({ dryRun: true, changes, effects, ...foreseen?.facts }) }
}

interface Written {
  reply: Reply
  wake: string[]
  /** The answer is known only later; `keep` then keeps it for replays. */
  settle?: () => Promise<unknown>
  keep: (tx: Tx, reply: Reply) => Promise<void>
}

async function runWrite(
  parts: RunnerParts,
  tx: Tx,
  handler: Handler,
  call: Call,
  trace: Trace,
): Promise<Written> {
  const caller = await callerOf(tx, call.token)
  trace.caller = caller
  const key = call.idempotencyKey
  const requestHash = key === null ? '' : hashOf(call)
  const kept = key === null ? null : await findKeptAnswer(tx, caller.principal, key)
  if (kept) {
    // A kept answer is no way around what holds by now, above all where it opens a door.
    if (caller.token.readOnly || call.operation.answersCapability) await admit(parts, tx, call, trace)
    return { reply: replay(opened(parts, caller, key, kept), requestHash), wake: [], keep: async () => {} }
  }
  const { context, target } = await admit(parts, tx, call, trace)
  const outcome = await handler.run(context, call.input, target)
  const reply = { status: 200, body: JSON.stringify(outcome.answer) }
  await record(tx, context, call, outcome)
  const keep: Written['keep'] = async (inTx, answer) => {
    if (key === null || (await findKeptAnswer(inTx, caller.principal, key))) return
    const body = keptBody(parts, caller, call, answer.body)
    await keepAnswer(inTx, caller.principal, key, { requestHash, status: 200, body }, context.now)
  }
  if (!outcome.settle) await keep(tx, reply)
  return { reply, wake: outcome.wake ?? [], keep, ...(outcome.settle ? { settle: outcome.settle } : {}) }
}

async function admit(
  parts: RunnerParts,
  tx: Tx,
  call: Call,
  trace?: Trace,
): Promise<{ context: Context; target: Target }> {
  const { operation, input } = call
  const caller = trace?.caller ?? (await callerOf(tx, call.token))
  const reached = (accountId: string) => {
    if (trace) trace.accountId = accountId
  }
  const target = await authorise({ tx, caller, operation, input, reached })
  checkRevision(call.input.expectedRevision, target)
  const now = timestamp(parts.clock.wallMs())
  const { secrets, logs, metrics, notices, prober, installation } = parts
  const context = {
    tx,
    caller,
    surface: call.surface,
    apiUrl: addressFor(installation.apiUrl(), call.reachedAt),
    now,
    secrets,
    logs,
    metrics,
    notices,
    prober,
    installation,
  }
  return { context, target }
}

/** Bound to every address of the machine, the server has no address of its own: the one the caller used is known to work. */
function addressFor(own: string, reachedAt: string | undefined): string {
  return /^http:\/\/(?:0\.0\.0\.0|\[::\])(?::|$)/.test(own) ? (reachedAt ?? own) : own
}

function checkRevision(expected: unknown, target: Target): void {
  if (expected === undefined) return
  const object = revisedObject(target)
  if (object && object.revision !== expected) {
    throw new AppError('conflict', 'Revision conflict', {
      details: `The revision is ${object.revision}, not ${expected}. Read it again and decide anew.`,
    })
  }
}

/** The object that `expectedRevision` is about: the nearest one that the row's policy names. */
function revisedObject(target: Target): { revision: number } | null {
  if ('alert' in target) return target.alert
  if ('contactPoint' in target) return target.contactPoint
  if ('environment' in target) return target.environment
  if ('app' in target) return target.app
  if ('member' in target) return target.member
  return 'account' in target ? target.account : null
}

/**
 * What is stored of an answer: nothing of one that shows a token (a null token shows none), and none that opens a door
 * as it is.
 */
function keptBody({ secrets }: RunnerParts, caller: Caller, call: Call, body: string): string {
  const { answersSecret, answersCapability } = call.operation
  if (answersSecret && JSON.parse(body).token !== null) return ''
  return answersCapability ? secrets.seal(body, keptName(caller, call.idempotencyKey)) : body
}

/** A kept answer as it was given; an empty body when its data key is gone since. */
function opened({ secrets }: RunnerParts, caller: Caller, key: string | null, kept: KeptAnswer): KeptAnswer {
  // Every answer is a JSON object: what does not begin as one is sealed.
  if (kept.body === '' || kept.body.startsWith('{')) return kept
  try {
    return { ...kept, body: secrets.open(kept.body, keptName(caller, key)) }
  } catch {
    return { ...kept, body: '' }
  }
}

function keptName({ principal }: Caller, key: string | null): string {
  return `answer/${principal}/${key}`
}

function replay(kept: KeptAnswer, requestHash: string): Reply {
  if (kept.requestHash !== requestHash) {
    throw new AppError('conflict', 'Idempotency key reused', {
      details:
        'This Idempotency-Key came with another operation or body before. Use a new key for a new request.',
    })
  }
  if (kept.body === '') {
    throw new AppError('conflict', 'Already done', {
      details:
        'The answer showed a secret and was not kept. Ask for a new one: rotate a token, or use another Idempotency-Key.',
    })
  }
  return { status: kept.status, body: kept.body }
}

function hashOf(call: Call): string {
  return createHash('sha256')
    .update(call.operation.id)
    .update('\n')
    .update(canonical(call.input))
    .digest('hex')
}

/** JSON with sorted keys, so that the order of keys makes no other body. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

async function record(tx: Tx, context: Context, call: Call, outcome: Outcome<unknown>): Promise<void> {
  const { change } = outcome
  if (!change) return
  const entry = {
    at: context.now,
    accountId: change.accountId,
    principal: context.caller.principal,
    surface: context.surface,
    operation: call.operation.id,
    objectType: change.objectType,
    objectId: change.objectId,
    outcome: 'done' as const,
    before: change.before,
    after: change.after,
  }
  await insertJournalEntry(tx, entry, context.secrets)
}
