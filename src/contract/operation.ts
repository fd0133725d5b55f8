import type { z } from 'zod'

export const apiPrefix = '/api/public/v1'

/**
 * Who may call an operation (interface.md 5, contract.md 2). `on` names what the caller must reach; the one
 * authorisation function turns it into a loaded target or a refusal.
 */
export type Policy =
  /** Any user token; `environmentToken` lets environment tokens in too. */
  | { on: 'installation'; environmentToken?: true }
  /** The account named by `accountId`. */
  | { on: 'account'; needs?: 'admin' | 'manageMembers' }
  /** The app named by `appId`. */
  | { on: 'app' }
  /** The account of `accountId`, or the app of `appId`: one of the two. */
  | { on: 'account-or-app' }
  /** The environment named by `appEnvId` or `envName`; M1 to M7 apply. */
  | { on: 'environment'; needs?: 'admin'; environmentToken?: true }
  /** The membership of `membershipId` in the account of `accountId`. */
  | { on: 'member'; needs: 'manageMembers' }
  /** The contact point named by `contactPointId`, through its account. */
  | { on: 'contact-point'; needs?: 'admin' }
  /** The alert named by `alertId`, through its environment: M1 to M7 apply. */
  | { on: 'alert'; needs?: 'admin' }
  /** The journal entry of `entryId`, through its account. */
  | { on: 'journal-entry'; needs: 'admin' }
  /** The environment of the run named by `jobRunId`. */
  | { on: 'job-run'; environmentToken?: true }
  /** The database backup of `backupId`, through its account; its environment may be gone. M1 to M7 apply. */
  | { on: 'backup'; needs?: 'admin' }
  /** The new environment's app and account, before the environment exists. */
  | { on: 'new-environment' }

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One row of the interface. Server, client, OpenAPI document and tools are all made from it. */
export interface Operation<
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
  P extends Policy = Policy,
> {
  readonly id: string
  readonly method: Method
  /** Below `apiPrefix`, such as `/app-env/status`. */
  readonly path: string
  readonly summary: string
  readonly policy: P
  readonly input: Input
  readonly output: Output
  /** Keys that a read adds: accepted and ignored where a read object is written back (contract.md 11). */
  readonly ignored?: readonly string[]
  /** The answer shows a token: it is never kept for a replay (contract.md 11). */
  readonly answersSecret?: true
  /** The answer shows an address that whoever knows it may use for a while: kept for a replay, but sealed. */
  readonly answersCapability?: true
  /** People do these; no agent tool is offered (contract.md 2). */
  readonly peopleOnly?: true
}

export type InputOf<O extends Operation> = z.output<O['input']>
/** What a client may leave out: inputs before their defaults are filled in. */
export type RawInputOf<O extends Operation> = z.input<O['input']>
export type OutputOf<O extends Operation> = z.output<O['output']>

export function operation<
  const Input extends z.ZodObject,
  const Output extends z.ZodType,
  const P extends Policy,
>(row: Operation<Input, Output, P>): Operation<Input, Output, P> {
  return Object.freeze(row)
}

export function isRead(row: Operation): boolean {
  return row.method === 'GET'
}
