import { randomUUID } from 'node:crypto'
import { ApprovalPending } from '../../client/approval-pending.ts'
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock.ts'
import { type Deployment, getAppEnvStatus } from '../../contract/app-env-reads.ts'
import type { ConfirmedBy } from '../../contract/audit.ts'
import { AppError } from '../../errors.ts'
import { newTraceparent } from '../../trace.ts'
import { ConfirmationNeeded, confirmLoss } from '../policy/confirmation.ts'
import { QuestionPending } from '../policy/questions.ts'
import { answerWithinScope, withinScope } from '../policy/scope.ts'
import { refusalOf, type ServerScope, type ToolPolicy } from '../policy/tool-policy.ts'
import { corrected } from './corrections.ts'
import { factsOf, type Note, type Tool, type ToolContext, type ToolInput } from './define-tool.ts'
import { waitedResult } from './deployment-result.ts'
import { dryRunPoint, readDryRun, recordRefusal } from './dry-run.ts'
import { toolNamed } from './find-tool.ts'
import { withParsedText } from './json-text.ts'
import { isListed, nextFields } from './next-actions.ts'
import { plainResult } from './plain-result.ts'
import { environmentRefOf, type ReadCache } from './read-cache.ts'
import { errorResult, faultResult, successResult, type ToolResult, taskResult } from './result.ts'
import { refuseCutTexts } from './result-size.ts'
import type { RetriedCalls } from './retried-calls.ts'
import {
  type CheckedArguments,
  checkArguments,
  platformInput,
  refuseNested,
  refuseTooMany,
} from './schema.ts'
import type { TaskRef } from './task-ref.ts'
import { approvalTask, cancelTask, idsOf, keptCall, startedTask, taskRow } from './tasks.ts'
import { withListing } from './unlisted-tools.ts'
import { waitSecondsOf } from './wait-for-deployment.ts'
import { jobRunResult } from './wait-for-job-run.ts'

/** The context of one tool call, provided by the server. */
interface ToolCall {
  tools: ReadonlyMap<string, Tool>
  toolPolicy: ToolPolicy
  client: Client
  /** Its span; without one the call begins a trace. */
  traceparent?: string
  /** How the agent names itself. */
  agent?: string | undefined
  reads: ReadCache
  retries: RetriedCalls
  /** Differs between the callers of this server, such as their tokens. */
  caller: string
  clock: Clock
  signal: AbortSignal
  /** Null when the caller gave no progress token. */
  progress: ((message: string, done: number, total: number | undefined) => void) | null
  askPerson: ToolContext['askPerson']
  /** The client takes tasks: what a tool would wait for becomes one. */
  takesTasks?: boolean | undefined
  /** Reads or cancels a task in place of a call. */
  task?: { ref: TaskRef; cancel: boolean } | undefined
  /** Called with errors that are bugs of ours. */
  onFault(error: unknown, requestId: string, tool: string): void
}

type Answer = Record<string, unknown>

/** Runs one tool call. Every error is a result; only a canceled call and one that waits for the person throw. */
export async function runTool(call: ToolCall, name: string, args: ToolInput): Promise<ToolResult> {
  let tool: Tool | undefined
  let ctx: ToolContext | undefined
  let given = args
  try {
    refuseTooMany(args)
    tool = toolNamed(call, name)
    given = withParsedText(tool, args)
    ctx = contextOf(call, tool)
    // Enforced at the call too, because a client can call a tool without listing it.
    const refusal = refusalOf(factsOf(tool), call.toolPolicy)
    if (refusal !== null) await recordRefusal(ctx, platformInput(tool, given), refusal)
    if (call.task !== undefined) return await runTask(call, tool, ctx, call.task)
    return await runAnswered(call, { tool, ctx, args: given })
  } catch (error) {
    call.signal.throwIfAborted()
    if (error instanceof QuestionPending) throw error
    if (error instanceof ApprovalPending && tool && ctx)
      return pendingResult(error, tool, ctx, call.takesTasks === true)
    if (error instanceof ConfirmationNeeded) return errorResult(error, error.fields)
    const noted = (fault: unknown) => {
      const requestId = randomUUID()
      call.onFault(fault, requestId, name)
      return requestId
    }
    if (!(error instanceof AppError)) return faultResult(noted(error))
    const better = await corrected(error, tool, ctx, given, call.toolPolicy.scope).catch((fault) => {
      call.signal.throwIfAborted()
      noted(fault)
      return error
    })
    return errorResult(ctx === undefined ? better : withListing(better, ctx, call))
  }
}

/** A tool whose answer takes long answers clients of tasks at once. */
async function runAnswered(
  call: ToolCall,
  { tool, ctx, args }: { tool: Tool; ctx: ToolContext; args: ToolInput },
): Promise<ToolResult> {
  const run = (given: ToolInput) => runChecked(call, { tool, ctx, args: given })
  if (call.takesTasks !== true || tool.task !== 'call' || args.dryRun === true) return await run(args)
  const { idempotencyKey, ...others } = args
  const key = typeof idempotencyKey === 'string' ? { key: idempotencyKey } : {}
  return await keptCall(tool, ctx, { args: others, ...key }, run)
}

async function runChecked(
  call: ToolCall,
  { tool, ctx, args }: { tool: Tool; ctx: ToolContext; args: ToolInput },
): Promise<ToolResult> {
  const { scope, allowSecrets } = call.toolPolicy
  refuseNested(tool, args)
  if (!tool.hints.readOnly) refuseCutTexts(args)
  const refused = (error: unknown) => recordRefusal(ctx, platformInput(tool, args), error)
  const { sent, own, fits } = await withinScope(ctx, scope, args)
    .then((within) => checkArguments(tool, within, allowSecrets))
    .catch(refused)
  // Arguments that the row does not accept go to the platform unchecked: it refuses them, as on every other surface.
  const before = fits ? earlyChecks(tool, ctx, sent, own) : Promise.resolve([])
  const notes = await before.catch((error) => recordRefusal(ctx, sent, error))
  if (own.dryRun === true) return await tried(tool, ctx, sent, notes)
  const loss = await tool.destroys?.(ctx, sent).catch((error) => recordRefusal(ctx, sent, error))
  const confirmedBy = loss ? await confirmLoss(ctx, loss, sent, own) : undefined
  const once = (idempotencyKey?: string) =>
    act(tool, ctx, {
      ...{ sent, own, fits, notes, scope, confirmedBy, idempotencyKey },
      takesTasks: call.takesTasks === true,
    })
  if (tool.hints.idempotent || own.idempotencyKey !== undefined)
    return await once(own.idempotencyKey as string)
  return await call.retries.run(call.caller, tool, args, { signal: call.signal, work: once })
}

/** No error, so that models do not repeat the call: it runs when a person approves it. */
function pendingResult(
  { approval }: ApprovalPending,
  tool: Tool,
  ctx: ToolContext,
  takesTasks: boolean,
): ToolResult {
  if (takesTasks) return approvalTask(tool, ctx, approval)

  const point = `Waiting for a person: nothing has changed yet. The call runs by itself once ${approval.approvalId} is approved at ${approval.url}. Do not send it again; get-approval with waitSeconds waits for the decision.`
  const answer = { ...approval }
  return successResult({
    point,
    answer: { ...answer, ...nextFields(answer, { tool, sent: {} }, ctx.isListed) },
  })
}

/** A task is read with the rights of its caller, and canceled by the operation that ends what it waits for. */
async function runTask(
  call: ToolCall,
  tool: Tool,
  ctx: ToolContext,
  { ref, cancel }: NonNullable<ToolCall['task']>,
): Promise<ToolResult> {
  const { toolPolicy } = call
  const { of } = ref
  if (of.kind === 'call') {
    if (tool.task !== 'call' || cancel) return taskResult(ref, 'It cannot be canceled, and goes on.')
    return keptCall(tool, ctx, of, (args) => runChecked(call, { tool, ctx, args }))
  }
  const row = taskRow(of.kind)
  await withinScope({ ...ctx, operation: row.reads }, toolPolicy.scope, idsOf(ref, row.reads))
  if (!cancel) return row.read(tool, ctx, ref as never)
  if (row.cancel === null) return taskResult(ref, 'It cannot be canceled, and goes on.')
  const canceling = toolNamed(call, row.cancel.id)
  const refusal = refusalOf(factsOf(canceling), toolPolicy)
  if (refusal !== null) throw refusal
  ctx.reads.clear()
  await cancelTask(ctx, ref, row.cancel)
  return taskResult(ref, 'Canceling.')
}

function contextOf(call: ToolCall, tool: Tool): ToolContext {
  return {
    operation: tool.operation,
    signal: call.signal,
    client: attributed(call),
    reads: call.reads,
    clock: call.clock,
    isListed: (name) => {
      const other = call.tools.get(name)
      return other !== undefined && isListed(other, call.toolPolicy)
    },
    takesProgress: call.progress !== null,
    progress: (message, done = 0, total) => call.progress?.(message, done, total),
    askPerson: call.askPerson,
  }
}

/** All calls of the platform that one tool call makes belong to one trace, and to its agent. */
function attributed({ client, traceparent = newTraceparent(), agent }: ToolCall): Client {
  return { call: (row, input, options) => client.call(row, input, { traceparent, agent, ...options }) }
}

/** Runs the checks. If a check fails on a cached read, it runs once more with fresh reads. */
async function earlyChecks(tool: Tool, ctx: ToolContext, input: ToolInput, own: ToolInput): Promise<Note[]> {
  ctx.reads.mark()
  try {
    return await runChecks(tool, ctx, input, own)
  } catch (error) {
    if (!ctx.reads.usedOld) throw error
    ctx.reads.clear()
    return runChecks(tool, ctx, input, own)
  }
}

async function runChecks(tool: Tool, ctx: ToolContext, input: ToolInput, own: ToolInput): Promise<Note[]> {
  const notes: Note[] = []
  for (const check of tool.checks) {
    const note = await check(ctx, input, own)
    if (note !== undefined) notes.push(note)
  }
  return notes
}

/** Runs the call as a dry run. It needs no confirmation, because it changes nothing. */
async function tried(tool: Tool, ctx: ToolContext, sent: ToolInput, notes: Note[]): Promise<ToolResult> {
  const answer = await readDryRun(ctx, sent)
  return successResult({ point: dryRunPoint(tool.title, answer), answer, notes })
}

interface Confirmed {
  confirmedBy: ConfirmedBy | undefined
  idempotencyKey: string | undefined
  takesTasks: boolean
}

async function act(
  tool: Tool,
  ctx: ToolContext,
  {
    sent,
    own,
    fits,
    notes,
    scope,
    confirmedBy,
    idempotencyKey,
    takesTasks,
  }: CheckedArguments & Confirmed & { notes: Note[]; scope: ServerScope },
): Promise<ToolResult> {
  const waits = tool.waits === true && own.wait !== false
  const waitsForRun = tool.waits === 'job-run' && own.wait !== false
  const before = waits && fits ? await newestDeployment(ctx, sent) : null
  if (!tool.hints.readOnly) ctx.reads.clear()
  const options = {
    signal: ctx.signal,
    confirmedBy,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
  }
  const whole = (await ctx.client.call(tool.operation, sent, options)) as Answer
  if (!tool.hints.readOnly) ctx.reads.clear()
  const answer = await answerWithinScope(ctx, scope, whole)
  const starts = waits || waitsForRun || tool.task === 'restore' || tool.task === 'move'
  const ref = takesTasks && starts ? await startedTask(tool, ctx, { sent, answer }) : null
  if (ref !== null) return taskResult(ref, 'The call was accepted.')
  if (waitsForRun)
    return jobRunResult(tool, ctx, answer, { waitSeconds: waitSecondsOf(own, ctx.takesProgress), notes })
  return waits
    ? waitedResult(tool, ctx, answer, { before, sent, own, notes })
    : plainResult(tool, ctx, answer, { sent, own, notes })
}

async function newestDeployment(ctx: ToolContext, input: ToolInput): Promise<Deployment | null> {
  const ref = environmentRefOf(input)
  return (await ctx.client.call(getAppEnvStatus, ref, { signal: ctx.signal })).currentDeployment
}
