import type { z } from 'zod'
import type { Permission } from './resource-facts.ts'
import type { EnvironmentType, PolicyType, resources } from './resources.ts'

export const apiPrefix = '/api/public/v1'

/**
 * The permissions that an operation requires (docs/interface.md#permissions). `on` names the object the caller needs
 * access to; the authorization function loads that target or refuses.
 */
export type Policy =
  /** Any user token; `environmentToken` lets environment tokens in too. */
  | { on: 'installation'; environmentToken?: true; operatorOnly?: never; needs?: never }
  /** Tokens of operators: admins of the installation's first account. */
  | { on: 'installation'; environmentToken?: never; operatorOnly: true; needs?: never }
  /** The account of `accountId`, or the app of `appId`: one of the two. */
  | { on: 'account-or-app'; environmentToken?: never; needs?: never }
  /** One environment, or those of an app or an account that the caller may access. */
  | { on: 'environments'; environmentToken?: never; needs?: never }
  | { on: 'whole-account'; environmentToken?: never; needs?: never }
  /** The new environment's app and account, before the environment exists. */
  | { on: 'new-environment'; environmentToken?: never; needs?: never }
  | { [T in PolicyType]: PolicyOn<T> }[PolicyType]

/** The object of this type that the input names; M1 to M7 apply if it belongs to an environment. */
type PolicyOn<T extends PolicyType> = { on: T } & ((typeof resources)[T] extends { alwaysNeeds: infer Needed }
  ? { needs: Needed }
  : { needs?: Permission }) &
  (T extends EnvironmentType ? { environmentToken?: true } : { environmentToken?: never })

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One row of the interface. Server, client, OpenAPI document and tools are all derived from it. */
export interface Operation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
  P extends Policy = Policy,
  M extends Method = Method,
> {
  readonly id: string
  readonly method: M
  /** Below `apiPrefix`, such as `/app-env/status`. */
  readonly path: string
  readonly summary: string
  readonly policy: P
  readonly input: Input
  readonly output: Output
  /** Keys that a read adds: accepted and ignored when the object is written back (docs/interface.md#round-trips). */
  readonly ignored?: readonly string[]
  /** The response contains a token, so it is never stored for replays (docs/interface.md#idempotency). */
  readonly answersSecret?: true
  /** The response contains a capability URL, so it is encrypted when stored for replays. */
  readonly answersCapability?: true
  /** It only asks people for something, so tokens that `mayPropose` may call it, whatever their limits. */
  readonly proposes?: true
  /** For people only; there is no agent tool for it (docs/interface.md#agent-tools). */
  readonly peopleOnly?: true
  /** A person may have to show again who they are (docs/sign-in.md#second-step). */
  readonly needsSecondStep?: true
  /** Changes nothing, although its input is too large for a query string and so needs POST. */
  readonly reads?: true
}

export type InputOf<O extends Operation> = z.output<O['input']>
/** The input as a client sends it, before defaults are filled in. */
export type RawInputOf<O extends Operation> = z.input<O['input']>
export type OutputOf<O extends Operation> = z.output<O['output']>

export function operation<
  const Input extends z.ZodObject,
  const Output extends z.ZodType,
  const P extends Policy,
  const M extends Method,
>(row: Operation<Input, Output, P, M>): Operation<Input, Output, P, M> {
  return Object.freeze(row)
}

export function isRead(row: Operation): boolean {
  return row.method === 'GET' || row.reads === true
}
