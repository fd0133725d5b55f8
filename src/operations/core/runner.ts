import { sleep, timestamp } from '../../clock.ts'
import { isRead, type Operation } from '../../contract/operation.ts'
import { showsSecrets } from '../../contract/scopes.ts'
import { decisionShown } from '../../domain/policy/decide.ts'
import { yieldAlone } from '../../pacer.ts'
import type { Tx } from '../../store/db.ts'
import { newTraceparent } from '../../trace.ts'
import { type AdmissionDeps, admit } from './admit.ts'
import { answerWithApproval } from './approval-answer.ts'
import { type Authenticating, createAuthenticate } from './authenticate.ts'
import type { Call, EnvironmentReader, OperationRunner, RemediationReader, Reply } from './call.ts'
import { type Caller, callerOf, environmentItself, remediationCaller } from './caller.ts'
import { checkHandlers } from './check-handlers.ts'
import { changedPaths } from './diff.ts'
import { fairSources } from './fair-sources.ts'
import type { AfterRead, Handler, Outcome, RemediationContexts, Sources } from './handler.ts'
import { shownImpact } from './impact.ts'
import { KeptResponses, type KeptResponsesDeps } from './kept-responses.ts'
import { decided, perform, withWarnings } from './perform.ts'
import { PolicyGate } from './policy-gate.ts'
import { recordWrite } from './record-write.ts'
import { RefusalAudit, type Trace } from './refusal-audit.ts'
import { remediationContexts } from './remediation-contexts.ts'
import { requireSecondStep } from './second-step.ts'
import { refusalOfToken } from './token-limits.ts'
import { shownChanges } from './visibility.ts'
import { WriteFailures } from './write-failures.ts'

interface RunnerDeps
  extends Omit<KeptResponsesDeps, 'secrets'>,
    Authenticating,
    Omit<AdmissionDeps, 'byId' | 'gate'> {
  sources: Sources
  handlers: readonly Handler[]
  /** Wakes the reconciler for the environments that changed, after the transaction is stored. */
  wake: (appEnvIds: readonly string[]) => void
}

type Deps = RunnerDeps & AdmissionDeps

/** How often a read that waits is repeated. */
const waitPollMs = 500

/**
 * Runs operations: caller, access, rule, save, audit entry and kept answer in one transaction, so that a crash loses
 * nothing acknowledged and a dry run is the same transaction rolled back.
 */
export function createRunner(given: RunnerDeps): OperationRunner & PlatformPorts {
  const byId = checkHandlers(given.handlers)
  const deps: Deps = { ...given, byId, gate: new PolicyGate(given.installation.policy) }
  const refusals = new RefusalAudit(deps)
  const responses = new KeptResponses(deps)
  const failures = new WriteFailures({ ...deps, refusals, onAsk: (call) => askPeople(deps, responses, call) })

  async function run(call: Call): Promise<Reply> {
    const handler = byId.get(call.operation.id)
    if (!handler) throw new Error(`no handler for ${call.operation.id}`)
    if (isRead(call.operation)) return read(handler, call)
    if (call.dryRun) return dry(handler, call)
    const done = await responses.track((runId) => runOnce(handler, call, runId))
    if (!('first' in done)) return done
    await done.first
    return run(call)
  }

  async function runOnce(handler: Handler, call: Call, runId: string): Promise<Earlier> {
    const written = await write(handler, call, runId)
    if ('earlier' in written) return written.earlier
    if (written.outcome.wake?.length) deps.wake(written.outcome.wake)
    deps.notifications.wake()
    return answerAfterCommit(deps, { call, runId, responses }, written)
  }

  /** A refused attempt to see secrets leaves a trace, as a successful one does. */
  async function read(handler: Handler, call: Call): Promise<Reply> {
    const trace = newTrace()
    try {
      return await readUntilDone(deps, handler, call, { trace, run })
    } catch (error) {
      if (showsSecrets(call.input)) await refusals.note(error, call, trace)
      throw error
    }
  }

  /** Tools, commands and the console preview destructive calls: the refused preview is the only trace of the attempt. */
  async function dry(handler: Handler, call: Call): Promise<Reply> {
    const trace = newTrace()
    try {
      const reply = await runDry(deps, handler, call, trace)
      if (call.declined) await refusals.record(call, trace)
      return reply
    } catch (error) {
      await refusals.note(error, call, trace)
      throw error
    }
  }

  async function write(handler: Handler, call: Call, runId: string): Promise<Written> {
    const trace = newTrace()
    try {
      return await deps.db.write((tx) => runWrite(deps, tx, { handler, call, runId, responses, trace }))
    } catch (error) {
      // The commit may have succeeded although its answer was lost.
      if (trace.wake.length > 0) deps.wake([...trace.wake])
      return { earlier: await failures.answer(error, call, trace) }
    }
  }

  return { run, ...platformPorts(deps, run), authenticate: createAuthenticate(deps) }
}

/** For the platform itself. */
type PlatformPorts = EnvironmentReader & RemediationReader & RemediationContexts

function platformPorts(deps: Deps, run: OperationRunner['run']): PlatformPorts {
  const readAs = async (caller: Caller, appEnvId: string, operation: Operation) => {
    const trace = { ...newTrace(), caller }
    const none = { token: null, idempotencyKey: null, dryRun: false } as const
    const origin = { surface: 'rest', traceparent: newTraceparent() } as const
    const call: Call = { operation, input: { appEnvId }, ...origin, ...none }
    const { reply } = await runRead(deps, deps.byId.get(operation.id)!, call, { trace, run })
    return JSON.parse(reply.body)
  }
  return {
    ...remediationContexts(deps),
    readAsEnvironment: (appEnvId, operation) => readAs(environmentItself(appEnvId), appEnvId, operation),
    readForRemediation: (userId, appEnvId, operation) =>
      readAs(remediationCaller(userId, ''), appEnvId, operation),
  }
}

function newTrace(): Trace {
  return { caller: null, accountId: null, wake: [] }
}

/** The write is rolled back; its approval is stored in a transaction of its own, with the same checks. */
async function askPeople(deps: Deps, responses: KeptResponses, call: Call): Promise<Reply> {
  const reply = await deps.db.write(async (tx) => {
    const { context, target } = await admit(deps, tx, call)
    const reply = await answerWithApproval(context, target, call)
    await responses.keep(tx, { caller: context.caller, call, now: context.now }, { reply, runId: null })
    return reply
  })
  deps.notifications.wake()
  return reply
}

interface Reading {
  trace: Trace
  run: OperationRunner['run']
}

/** A read with `waitSeconds` is repeated until its answer is final; each time with the permissions of that time. */
async function readUntilDone(deps: Deps, handler: Handler, call: Call, reading: Reading): Promise<Reply> {
  const endMs = deps.clock.monotonicMs() + Number(call.input.waitSeconds ?? 0) * 1000
  for (;;) {
    const { reply, isUnderWay } = await runRead(deps, handler, call, reading)
    const leftMs = endMs - deps.clock.monotonicMs()
    if (!isUnderWay || leftMs <= 0 || call.signal?.aborted) return reply
    await sleep(deps.clock, Math.min(waitPollMs, leftMs), call.signal)
    reading.trace.caller = null
  }
}

/** A read of secrets has its audit entry before they are returned. */
async function runRead(
  deps: Deps,
  handler: Handler,
  call: Call,
  { trace, run }: Reading,
): Promise<{ reply: Reply; isUnderWay: boolean }> {
  // Tenants choose the size of the answer, and callers the number of simultaneous reads.
  await yieldAlone(call.principal)
  const { context, target, outcome } = await deps.db.read(async (tx) => {
    const { context, target } = await admit(deps, tx, call, trace)
    await requireSecondStep(tx, { ...context, call, target })
    return { context, target, outcome: await handler.run(context, call.input, target) }
  })
  if (outcome.change) {
    await deps.db.write(async (tx) => {
      const writing = { ...context, tx }
      const shows = { impact: { actions: ['reveal-secret' as const] }, ...outcome }
      const ruling = await decided(deps, writing, { call, target, trace }, shows)
      await recordWrite(writing, call, outcome.change, ruling)
    })
  }
  const { answer, afterRead, isUnderWay = false } = outcome
  if (!afterRead) return { reply: replyOf(answer), isUnderWay }
  const after = fairSources(deps, trace.accountId ?? call.principal)
  await after.pause()
  const rehearse: AfterRead['rehearse'] = async (operation, input) =>
    JSON.parse((await run({ ...call, operation, input, dryRun: true })).body)
  return { reply: replyOf(await afterRead(answer, { ...after, rehearse })), isUnderWay }
}

/** Slow reads come after the transaction: while it is open, all other writes wait. */
async function runDry(deps: Deps, handler: Handler, call: Call, trace: Trace): Promise<Reply> {
  const { outcome, target, ruling } = await deps.db.rehearse(async (tx) => {
    const { context, target } = await admit(deps, tx, call, trace)
    const performed = await perform(deps, context, { handler, call, target, trace })
    return { ...performed, target }
  })
  const { change } = outcome
  const changes = change ? shownChanges(target, change, changedPaths(change.before, change.after)) : []
  const previewed = await outcome.preview?.(fairSources(deps, trace.accountId ?? call.principal))
  const effects = [...(outcome.effects ?? []), ...(previewed?.effects ?? [])]
  const { facts: decided, shown } = ruling
  const facts = {
    ...previewed?.facts,
    impact: shownImpact(target, decided.impact),
    policy: decisionShown(shown),
  }
  return replyOf({ dryRun: true, changes, effects, ...facts })
}

/** The answer of an earlier request with the same key, or its run, which gives the answer. */
type Earlier = Exclude<Awaited<ReturnType<KeptResponses['answerOf']>>, null>

type Written = { earlier: Earlier } | Committed

interface Committed {
  caller: Caller
  outcome: Outcome<unknown>
  /** The answer, as long as there is no other one; null: the transaction stored nothing. */
  provisional: Reply | null
}

interface WriteRun {
  handler: Handler
  call: Call
  runId: string
  responses: KeptResponses
  trace: Trace
}

async function runWrite(
  deps: Deps,
  tx: Tx,
  { handler, call, runId, responses, trace }: WriteRun,
): Promise<Written> {
  const now = timestamp(deps.clock.wallMs())
  const caller = await callerOf(tx, call, now)
  trace.caller = caller
  const kept = await responses.find(tx, caller, call)
  if (kept) {
    // A kept answer does not bypass permissions that changed since, above all where it grants access.
    const isRefused = refusalOfToken({ ...call, caller }) !== null
    if (isRefused || call.operation.answersCapability) await admit(deps, tx, call, trace)
    const earlier = await responses.answerOf(tx, kept, { caller, call, now })
    if (earlier) return { earlier }
  }
  const { context, target } = await admit(deps, tx, call, trace)
  await requireSecondStep(tx, { caller, call, target, now, installation: deps.installation })
  await call.also?.(tx)
  const { outcome, ruling } = await perform(deps, context, { handler, call, target, trace })
  trace.wake = outcome.wake ?? []
  await recordWrite(context, call, outcome.change, ruling)
  const provisional = outcome.answer === null ? null : replyOf(withWarnings(outcome.answer, ruling))
  const completedBy = outcome.afterCommit ? runId : null
  await responses.keep(tx, { caller, call, now: context.now }, { reply: provisional, runId: completedBy })
  return { caller, outcome, provisional }
}

async function answerAfterCommit(
  deps: RunnerDeps,
  { call, runId, responses }: Pick<WriteRun, 'call' | 'runId' | 'responses'>,
  { caller, outcome: { afterCommit }, provisional }: Committed,
): Promise<Reply> {
  if (!afterCommit) return provisional!
  const { db, notifications } = deps
  try {
    const reply = replyOf(await afterCommit((work) => db.write(work), fairSources(deps, caller.principal)))
    notifications.wake()
    await responses.complete(caller, call, { reply, runId })
    return reply
  } catch (error) {
    // Errors are not kept: where nothing was stored, the key is free at once, on other instances too.
    if (provisional === null) await responses.complete(caller, call, { reply: null, runId }).catch(() => {})
    throw error
  }
}

function replyOf(answer: unknown): Reply {
  return { status: 200, body: JSON.stringify(answer) }
}
