import type { z } from 'zod'
import type { Client } from '../../client/client.ts'
import type { Clock } from '../../clock.ts'
import type { Operation, OutputOf, RawInputOf } from '../../contract/operation.ts'
import type { ToolGroup } from '../../contract/tool-groups.ts'
import type { ToolFacts } from '../policy/tool-policy.ts'
import type { ResourceLink } from '../resources/log-links.ts'
import type { ReadCache } from './read-cache.ts'
import type { ToolInput } from './tool-input.ts'

export type { ToolInput }

/** The part of a session that checks and handlers use; independent of the MCP library. */
export interface ToolContext {
  /** The row of the running tool. */
  readonly operation: Operation
  /** Aborted when the caller cancels or leaves. */
  readonly signal: AbortSignal
  readonly client: Client
  /** Recent reads; every write of this session clears them. */
  readonly reads: ReadCache
  readonly clock: Clock
  /** Whether the client sees this tool in its list, so that advice may name it. */
  isListed(name: string): boolean
  /** True when the caller requested progress; such a caller accepts long calls. */
  readonly takesProgress: boolean
  /** Reports progress. `done` and `total` are in the unit of the message, in seconds when waiting. */
  progress(message: string, done?: number, total?: number): void
  /** Has the host ask the person; null when it cannot ask. Fails closed: anything but a clear yes is false. */
  readonly askPerson: ((question: string, yes: string) => Promise<boolean>) | null
}

/** A sentence of ours added to a result; tenants' text goes into `fields`, which are merged into the result. */
export type Note = string | { text: string; fields: Record<string, unknown> }

/**
 * Runs before the platform is called. Throws an `AppError` that names the rule and the alternative; may return a note.
 * `own` holds the inputs that only the tool has.
 */
export type Check = (
  ctx: ToolContext,
  input: ToolInput,
  own: ToolInput,
) => undefined | Note | Promise<undefined | Note>

/**
 * The object that a destructive call would destroy. The effects of a dry run list everything else that goes with it.
 * `name` and `what` are our own text: they name objects by id or cliEnvName.
 */
export interface Loss {
  name: string
  what: string
  /** Tenants' text, shown apart from our sentences. `confirm` must equal this `name` if set, else the `name` above. */
  fields?: { name?: string; variables?: string[] }
  /** Completes "This would …". */
  verb: 'delete' | 'cancel' | 'undo' | 'remove' | 'stop' | 'grant' | 'replace'
}

export interface ToolHints {
  readOnly: boolean
  destructive: boolean
  idempotent: boolean
  /** The call contacts systems outside the platform: a registry, a Git host, a receiver of notifications. */
  openWorld: boolean
}

/** Puts tenants' text into an envelope, apart from our own text (untrusted-text.ts). */
type Frame = (what: string, lines: readonly string[]) => string

interface ToolDefinition<Row extends Operation> {
  /** The row of the contract this tool offers: name, input and output come from it. */
  operation: Row
  /** The group that `--tools` selects it with. */
  group: ToolGroup
  title: string
  /** Text for the model's choice of a tool, if the summary of the row is not enough; at most 300 characters. */
  description?: string
  hints: ToolHints
  checks?: readonly Check[]
  /** The result in one sentence, which names objects by id and environments by cliEnvName. */
  point?: (answer: OutputOf<Row>, input: RawInputOf<Row>, envName: string) => string
  /** Resources with more than the result shows. */
  links?: (answer: OutputOf<Row>, input: RawInputOf<Row>) => ResourceLink[]
  /** Passes the cliEnvName of the call's environment to `point`. */
  namesEnvironment?: true
  /** Text shown instead of the JSON of the response, for responses that are tenants' text. */
  body?: (answer: OutputOf<Row>, frame: Frame) => string | null
  /** Defaults for omitted inputs: smaller than the platform's, because every line costs the model tokens. */
  defaults?: Partial<RawInputOf<Row>>
  /** A list of the response that is shown in pages; adds the inputs `search` and `offset`. */
  pages?: keyof OutputOf<Row> & string
  /** Cuts long texts of the response. */
  shorten?: (answer: OutputOf<Row>) => OutputOf<Row>
  /**
   * The call starts a deployment (true; adds `deployment` to the result) or a job run. Adds the inputs `wait` and
   * `waitSeconds`.
   */
  waits?: boolean | 'job-run'
  /** What a call starts that only clients of tasks wait for; of `call`, the answer itself. */
  task?: 'restore' | 'move' | 'call'
  /** The object that the call destroys: the person confirms it, or `confirm` names it. Null if nothing is destroyed. */
  destroys?: (ctx: ToolContext, input: ToolInput) => Promise<Loss | null>
  /** The own input that confirms with `true`, in place of `confirm`. */
  confirmedWith?: string
  /** Inputs that only the tool has, for its checks; never sent to the platform. */
  ownInputs?: z.ZodRawShape
  /** Fields that notes of its checks add to the result. */
  noteFields?: z.ZodRawShape
  /** Inputs of the row for people only: neither listed nor accepted. */
  peopleInputs?: readonly (keyof RawInputOf<Row> & string)[]
  /** Inputs that exist only if the server was started with secrets allowed. */
  secretInputs?: readonly (keyof RawInputOf<Row> & string)[]
  /** Inputs whose values another tool lists; these words replace the values. Empty if the description covers them. */
  referredInputs?: Readonly<Record<string, string>>
}

/** A tool as the rest of the MCP side sees it, its row's types erased. */
export interface Tool
  extends Omit<
    ToolDefinition<Operation>,
    | 'description'
    | 'point'
    | 'links'
    | 'body'
    | 'shorten'
    | 'pages'
    | 'secretInputs'
    | 'peopleInputs'
    | 'checks'
  > {
  readonly name: string
  readonly description: string
  readonly checks: readonly Check[]
  readonly secretInputs: readonly string[]
  readonly peopleInputs: readonly string[]
  readonly point?: (answer: never, input: never, envName: string) => string
  readonly links?: (answer: never, input: never) => ResourceLink[]
  readonly body?: (answer: never, frame: Frame) => string | null
  readonly shorten?: (answer: never) => Record<string, unknown>
  readonly pages?: string
}

export function defineTool<Row extends Operation>(definition: ToolDefinition<Row>): Tool {
  const { checks = [], secretInputs = [], peopleInputs = [], ...rest } = definition
  return Object.freeze({
    ...rest,
    name: definition.operation.id,
    description: definition.description ?? definition.operation.summary,
    checks,
    secretInputs,
    peopleInputs,
  }) as Tool
}

/** The facts of a tool that a scope is checked against. */
export function factsOf({ name, group, hints, operation }: Tool): ToolFacts {
  const { readOnly, destructive } = hints
  return { name, group: group ?? null, readOnly, destructive, on: operation.policy.on }
}
