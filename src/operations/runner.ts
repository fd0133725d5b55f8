import { createHash } from 'node:crypto'
import { type Clock, timestamp } from '../clock.ts'
import { isRead } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import type { Db, Tx } from '../store/db.ts'
import { findKeptAnswer, keepAnswer } from '../store/idempotency.ts'
import { insertJournalEntry } from '../store/journal.ts'
import type { SecretBox } from '../store/secret-box.ts'
import { authorise, type Target } from './authorise.ts'
import type { Call, OperationRunner, Reply } from './call.ts'
import { type Caller, callerOf } from './caller.ts'
import { changedPaths } from './changes.ts'
import type { Context, Handler, Installation, LogReader, Outcome } from './handler.ts'

export interface RunnerParts {
  db: Db
  clock: Clock
  secrets: SecretBox
  logs: LogReader
  installation: Installation
  handlers: readonly Handler[]
  /** Tells the reconciler which environments changed, after the transaction is stored. */
  wake: (appEnvIds: readonly string[]) => void
}

/**
 * Runs operations: caller, access, rule, save, journal entry and kept answer in one transaction, so a crash
 * loses nothing acknowledged and a dry run is the same transaction rolled back.
 */
export function createRunner(parts: RunnerParts): OperationRunner {
  const handlers = new Map(parts.handlers.map((handler) => [handler.operation.id, handler]))

  async function run(call: Call): Promise<Reply> {
    const handler = handlers.get(call.operation.id)
    if (!handler) throw new Error(`no handler for ${call.operation.id}`)
    if (isRead(call.operation)) return parts.db.read((tx) => runRead(parts, tx, handler, call))
    if (call.dryRun) return parts.db.rehearse((tx) => runDry(parts, tx, handler, call))
    const { reply, wake } = await parts.db.write((tx) => runWrite(parts, tx, handler, call))
    if (wake.length > 0) parts.wake(wake)
    return reply
  }

  return {
    run,
    async authenticate(token) {
      await parts.db.read((tx) => callerOf(tx, token))
    },
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
  return { status: 200, body: JSON.stringify({ dryRun: true, changes, effects: outcome.effects ?? [] }) }
}

async function runWrite(
  parts: RunnerParts,
  tx: Tx,
  handler: Handler,
  call: Call,
): Promise<{ reply: Reply; wake: string[] }> {
  const caller = await callerOf(tx, call.token)
  const requestHash = call.idempotencyKey === null ? '' : hashOf(call)
  if (call.idempotencyKey !== null) {
    const kept = await findKeptAnswer(tx, caller.principal, call.idempotencyKey)
    if (kept) return { reply: replay(kept, requestHash), wake: [] }
  }
  const { context, target } = await admit(parts, tx, call, caller)
  const outcome = await handler.run(context, call.input, target)
  const reply = { status: 200, body: JSON.stringify(outcome.answer) }
  await record(tx, context, call, outcome)
  if (call.idempotencyKey !== null) {
    const body = call.operation.answersSecret ? '' : reply.body
    await keepAnswer(
      tx,
      caller.principal,
      call.idempotencyKey,
      { requestHash, status: 200, body },
      context.now,
    )
  }
  return { reply, wake: outcome.wake ?? [] }
}

async function admit(
  parts: RunnerParts,
  tx: Tx,
  call: Call,
  known?: Caller,
): Promise<{ context: Context; target: Target }> {
  const caller = known ?? (await callerOf(tx, call.token))
  const target = await authorise(tx, caller, call.operation.policy, call.input)
  checkRevision(call.input.expectedRevision, target)
  const now = timestamp(parts.clock.wallMs())
  const { secrets, logs, installation } = parts
  return { context: { tx, caller, surface: call.surface, now, secrets, logs, installation }, target }
}

function checkRevision(expected: unknown, target: Target): void {
  if (expected === undefined) return
  const object = 'environment' in target ? target.environment : 'app' in target ? target.app : null
  if (object && object.revision !== expected) {
    throw new AppError('conflict', 'Revision conflict', {
      details: `The revision is ${object.revision}, not ${expected}. Read it again and decide anew.`,
    })
  }
}

function replay(kept: { requestHash: string; status: number; body: string }, requestHash: string): Reply {
  if (kept.requestHash !== requestHash) {
    throw new AppError('conflict', 'Idempotency key reused', {
      details:
        'This Idempotency-Key came with another operation or body before. Use a new key for a new request.',
    })
  }
  if (kept.body === '') {
    throw new AppError('conflict', 'Already done', {
      details: 'The answer showed a token and was not kept. Rotate the token to get a new one.',
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
  await insertJournalEntry(tx, {
    at: context.now,
    accountId: change.accountId,
    principal: context.caller.principal,
    surface: context.surface,
    operation: call.operation.id,
    objectType: change.objectType,
    objectId: change.objectId,
    before: change.before,
    after: change.after,
  })
}
