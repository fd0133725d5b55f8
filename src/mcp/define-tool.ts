import type { z } from 'zod'
import type { Client } from '../client/client.ts'
import type { Clock } from '../clock.ts'
import type { Operation, OutputOf, RawInputOf } from '../contract/operation.ts'
import type { ToolFacts } from './exposure.ts'
import type { ReadCache } from './read-cache.ts'
import type { ToolGroup } from './tool-groups.ts'

export type ToolInput = Readonly<Record<string, unknown>>

/** What a check and a handler see of the session. Nothing of the MCP library reaches here. */
export interface ToolContext {
  /** The row of the tool that runs. */
  readonly operation: Operation
  /** Aborted when the caller cancels or leaves. */
  readonly signal: AbortSignal
  readonly client: Client
  /** What was read a moment ago; any write of this session empties it. */
  readonly reads: ReadCache
  readonly clock: Clock
  /** True when the caller asked for progress; then a call may take long. */
  readonly takesProgress: boolean
  /** Tells the caller how far the work is. `done` and `total` in the unit of the message, seconds when waiting. */
  progress(message: string, done?: number, total?: number): void
  /** Asks the person; null when the caller cannot ask. Fails closed: anything but a clear yes is false. */
  readonly askPerson: ((question: string, yes: string) => Promise<boolean>) | null
}

/**
 * Runs before the backend is asked to act, on what the client reads. Throws an `AppError` naming the rule and
 * what to do instead; may return a sentence that is shown beside the answer. `own` holds the inputs that only the
 * tool has.
 */
export type Check = (
  ctx: ToolContext,
  input: ToolInput,
  own: ToolInput,
) => undefined | string | Promise<undefined | string>

/**
 * What a destructive call would take away: the exact name to type back, and the object in words. What goes with it
 * is counted by the platform, in the effects of a dry run.
 */
export interface Loss {
  name: string
  what: string
  /** What happens to it, as in "This would delete …". */
  verb: 'delete' | 'cancel' | 'undo' | 'remove' | 'stop' | 'grant' | 'replace'
  /** True where another call brings it back: then only a person is asked, and no `confirm` is needed. */
  isReversible?: true
}

export interface ToolHints {
  readOnly: boolean
  destructive: boolean
  idempotent: boolean
}

/** Puts text of tenants into an envelope, with our own words outside (untrusted-text.ts). */
export type Frame = (what: string, lines: readonly string[]) => string

export interface ToolDefinition<Row extends Operation> {
  /** The row of the contract this tool offers: name, input and output come from it. */
  operation: Row
  /** What it is offered with (`--tools`). */
  group: ToolGroup
  title: string
  /** What the model reads when it chooses; at most 300 characters. */
  description: string
  hints: ToolHints
  checks?: readonly Check[]
  /** The answer in one sentence, the point first. */
  point?: (answer: OutputOf<Row>, input: RawInputOf<Row>) => string
  /** Text shown instead of the JSON of the answer, for answers that are text of tenants. */
  body?: (answer: OutputOf<Row>, frame: Frame) => string
  /** What a call asks for that leaves these out: less than the platform would give, as a model pays for each line. */
  defaults?: Partial<RawInputOf<Row>>
  /** A list of the answer that is shown in pages: `search` and `offset` are inputs. */
  pages?: keyof OutputOf<Row> & string
  /** The answer as a model gets it, its long texts cut. */
  shorten?: (answer: OutputOf<Row>) => OutputOf<Row>
  /**
   * The call starts a deployment (true; `deployment` is in the answer) or a job run: `wait` and `waitSeconds` are
   * inputs.
   */
  waits?: boolean | 'job-run'
  /** What the call destroys: the person is asked, or `confirm` must name it. Null: this call destroys nothing. */
  destroys?: (ctx: ToolContext, input: ToolInput) => Promise<Loss | null>
  /** `confirm` is no input: whatever the call takes away is reversible. */
  asksOnly?: true
  /** Inputs that only the tool has, for its checks; never sent to the platform. */
  ownInputs?: z.ZodRawShape
  /** Inputs that exist only where the server was started with secrets allowed. */
  secretInputs?: readonly (keyof RawInputOf<Row> & string)[]
  /** Inputs that are taken but not listed: another input or tool says the same, or hardly anybody needs them here. */
  unlistedInputs?: readonly ((keyof RawInputOf<Row> & string) | 'dryRun' | 'idempotencyKey')[]
  /** Inputs whose values another tool lists: these words stand in place of the values. Empty where the description says it. */
  referredInputs?: Readonly<Record<string, string>>
}

/** A tool as the rest of the MCP side sees it, its row's types erased. */
export interface Tool
  extends Omit<
    ToolDefinition<Operation>,
    'point' | 'body' | 'shorten' | 'pages' | 'secretInputs' | 'unlistedInputs' | 'checks'
  > {
  readonly name: string
  readonly checks: readonly Check[]
  readonly secretInputs: readonly string[]
  readonly unlistedInputs: readonly string[]
  readonly point?: (answer: never, input: never) => string
  readonly body?: (answer: never, frame: Frame) => string
  readonly shorten?: (answer: never) => Record<string, unknown>
  readonly pages?: string
}

export function defineTool<Row extends Operation>(definition: ToolDefinition<Row>): Tool {
  const { checks = [], secretInputs = [], unlistedInputs = [], ...rest } = definition
  return Object.freeze({
    ...rest,
    name: definition.operation.id,
    checks,
    secretInputs,
    unlistedInputs,
  }) as Tool
}

/** What an exposure looks at in a tool. */
export function factsOf({ name, group, hints, operation }: Tool): ToolFacts {
  const { readOnly, destructive } = hints
  return { name, group: group ?? null, readOnly, destructive, on: operation.policy.on }
}
