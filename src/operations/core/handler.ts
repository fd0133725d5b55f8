import type { AccountSettings } from '../../contract/accounts.ts'
import type { LogLine } from '../../contract/app-env-reads.ts'
import type { Host } from '../../contract/app-envs.ts'
import type { Surface } from '../../contract/audit.ts'
import type { Impact, ImpactStatement } from '../../contract/impact.ts'
import type { Instance } from '../../contract/instances.ts'
import type { InputOf, Operation, OutputOf } from '../../contract/operation.ts'
import type { PolicyContent } from '../../contract/policy.ts'
import type { Region } from '../../contract/regions.ts'
import type { AuditName } from '../../contract/resources.ts'
import type { Base } from '../../domain/approvals/approval.ts'
import type { DatabaseAccess, DatabaseSecrets } from '../../domain/databases/credentials.ts'
import type { DatabaseAvailabilities } from '../../domain/databases/presets.ts'
import type { OwnNames } from '../../domain/domains/name.ts'
import type { LogQuery } from '../../domain/environments/log-query.ts'
import type { ProbeOrder, ProbeOutcome } from '../../domain/functions/probe.ts'
import type { Decision } from '../../domain/policy/decide.ts'
import type { MetricReader } from '../../metrics/source.ts'
import type { Db, Tx } from '../../store/db.ts'
import type { SecretBox } from '../../store/secrets/secret-box.ts'
import type { TokenMail } from '../access/token-mail.ts'
import type { TokenUses } from '../access/token-uses.ts'
import type { Target, TargetOf } from './access-targets.ts'
import type { StepCall } from './call.ts'
import type { Caller } from './caller.ts'
import type { Ruling } from './ruling.ts'

/** Facts of the installation that operations need. */
export interface Installation {
  regions(): Region[]
  instances(): Instance[]
  /** Address of the API, without a trailing slash. */
  apiUrl(): string
  /** Address under which people reach the platform, without a trailing slash: for links. */
  publicUrl(): string
  /** Passwords in database URLs are masked unless `secrets` are given. */
  hosts(
    environment: {
      cliEnvName: string
      accountId: string
      region: string
      servedFrom?: string
      database?: DatabaseAccess
      applied?: { containers: number }
    },
    app: { port: number | null; dockerPreset: string },
    secrets?: DatabaseSecrets,
  ): Host[]
  /** The managed databases that the region's engine, or any engine, can run, as last checked. */
  databaseAvailability(region?: string): DatabaseAvailabilities
  /** Where database images come from instead of their own registries; null for these. */
  databaseImageSource: string | null
  defaultAccountSettings: AccountSettings
  /** Hash of the token in the data directory of this control plane; null: it has none. */
  adminTokenHash(): string | null
  /** Why the engine of a region does not answer, in words of the platform; null when it does. */
  engineProblem(region: string): string | null
  domains: DomainFacts
  /** The policy of the platform, which applies to every account; null: none. */
  policy: PolicyContent | null
  /** How many times faster alert durations and query ranges run (docs/interface.md#clock-scale). */
  clockScale: number
}

interface DomainFacts {
  /** Names that no environment can have as its domain. */
  ownNames(): OwnNames
  /** The addresses at which clients reach this installation, as far as they are known without DNS. */
  addresses: readonly string[]
  /** Whether certificates are ordered, and whether TXT records can be set for them. */
  orders: boolean
  setsTxtRecords: boolean
}

/** The port to kept log lines. Long reads alternate by `onBehalfOf`, such as an account. */
interface LogReader {
  read(
    appEnvId: string,
    query: LogQuery,
    onBehalfOf?: string,
  ): Promise<{ logs: LogLine[]; cursor: string | null; truncated: boolean }>
}

/** The port to the loop that sends notifications. */
interface NotificationSender {
  /** Looks for stored notifications now. */
  wake(): void
  /** Sends one stored notification now, with at most two attempts; never throws. */
  sendNow(notificationId: string): Promise<{ delivered: boolean; attempts: NotificationAttempt[] }>
}

/** Sends load to a function. */
interface FunctionProber {
  /** Resolves within slightly more than 20 s; an `AppError` if another probe is in progress. */
  probe(order: ProbeOrder): Promise<ProbeOutcome>
}

interface NotificationAttempt {
  at: string
  ok: boolean
  reason?: string
}

/**
 * Data from log files, samples or another machine. Tenants influence how long reading takes, so handlers get it only
 * after their transaction: on PostgreSQL each holds one of a few connections, and a write makes others wait.
 */
export interface Sources {
  logs: LogReader
  metrics: MetricReader
  prober: FunctionProber
}

/** For after the transaction of a read; `read` opens another one. The calls of accounts alternate. */
export interface AfterRead extends Sources {
  read: Db['read']
  /** For before work of its own that takes milliseconds. */
  pause(): Promise<void>
  /** The answer of a dry run of another call by the same caller. */
  rehearse: (operation: Operation, input: Record<string, unknown>) => Promise<unknown>
}

export interface Context {
  tx: Tx
  caller: Caller
  surface: Surface
  /** The agent session and the agent that the caller names; recorded, never trusted. */
  agentSession: string | undefined
  agent: string | undefined
  /** The span of this call in its trace, the parent of spans that the call causes. */
  traceparent: string
  /** Address of the API for this caller, without a trailing slash. */
  apiUrl: string
  /** ISO time of this call. */
  now: string
  secrets: SecretBox
  notifications: NotificationSender
  /** Null where no mail server is configured. */
  tokenMail: TokenMail | null
  tokenUses: TokenUses
  installation: Installation
  /** Runs other operations inside this transaction, for plans and approvals. */
  steps: StepRunner
}

export interface StepOutcome {
  outcome: Outcome<unknown>
  ruling: Ruling
}

/** The effects of a call that ran and was rolled back. */
export interface PreviewedStep {
  changes: { path: string; before: unknown; after: unknown }[]
  effects: string[]
  impact: Impact
  base: Base[]
  /** The caller lacks the right; the approver's counts instead. */
  beyond: boolean
  /** The policies' decision; null without policies. */
  decision: Decision | null
}

export interface PerformedStep extends StepOutcome {
  base: Base[]
  auditId: string | null
}

/** The people behind a step: it runs in the name of the requester, and with the rights of both. */
export interface StepPeople {
  requester: Caller
  /** Null: it runs by the rights of the requester alone, and a rule that asks refuses it. */
  approver: Caller | null
  /** The requester needs no right of its own but to see the object. */
  beyond: boolean
}

/** Runs other operations inside a transaction, for plans and approvals. */
export interface StepRunner {
  /** Runs the calls in order, so that each is shown on top of the ones before, and then rolls all of them back. */
  preview(calls: readonly StepCall[], caller: Caller): Promise<PreviewedStep[]>
  /** Runs one call for good; what it did is undone if it fails with an `AppError`, and only then. */
  perform(step: StepCall, people: StepPeople, approvalId?: string): Promise<PerformedStep>
}

/** For runs of remediations: what a handler gets, in a transaction of their own. */
export interface RemediationContexts {
  remediationContext(tx: Tx, caller: Caller): Context
  /** Of any machine. */
  metrics: MetricReader
  wakeEnvironments(appEnvIds: readonly string[]): void
}

/** The result of a write, for the audit log, dry runs and undo. Secrets in it are sealed. */
export interface Change {
  objectType: AuditName
  objectId: string
  /** Null for objects of no account, such as a user's own tokens. */
  accountId: string | null
  before: unknown
  after: unknown
  /** For an undo: the entry that it undid. */
  undid?: string
  /** Reserved zClouds after minus before; not recorded. */
  zCloudsDelta?: number
  /** Changes of other objects that follow from it; each has an entry of its own. */
  alsoChanged?: Change[]
}

/**
 * Makes the answer after the commit if it depends on a later event, such as the delivery of a test notification. `write`
 * stores the result of that event.
 */
type AfterCommit<Answer> = (write: Db['write'], sources: Sources) => Promise<Answer>

interface Effects<Answer> {
  change?: Change | undefined
  /** The effects as data, which policies and audit entries decide over. */
  impact?: ImpactStatement
  /** The effects of the change, in sentences for people; shown by a dry run. */
  effects?: string[]
  /** Additional fields of a dry run; called only for dry runs, after the transaction has ended. */
  preview?: (sources: Sources) => Promise<{ effects: string[]; facts: Record<string, unknown> }>
  /** The answer of a read may change soon: a caller that sent `waitSeconds` waits for that. */
  isUnderWay?: boolean
  /** Completes the answer of a read after its transaction. */
  afterRead?: (answer: Answer, after: AfterRead) => Promise<Answer>
  /** Environments the reconciler should look at once this is stored. */
  wake?: string[]
}

interface Answered<Answer> extends Effects<Answer> {
  /** With `afterCommit` provisional: repeated requests get it if the process ends before the final answer is stored. */
  answer: Answer
  afterCommit?: AfterCommit<Answer>
}

/** The transaction makes no change, so the request may run again if the process ends before the answer is stored. */
interface AnsweredLater<Answer> extends Effects<Answer> {
  answer: null
  afterCommit: AfterCommit<Answer>
}

/** A write that finds nothing to do. */
export const noImpact: ImpactStatement = { actions: ['none'] }

export type Outcome<Answer> = Answered<Answer> | AnsweredLater<Answer>

export interface Handler {
  operation: Operation
  run(context: Context, input: Record<string, unknown>, target: Target): Promise<Outcome<unknown>>
}

/** The audit entry of a read that shows secrets; it contains no values. */
export function secretsShown(
  objectType: Change['objectType'],
  { objectId, accountId }: { objectId: string; accountId: string },
): Change {
  return { objectType, objectId, accountId, before: {}, after: {} }
}

/** Every write states its impact. */
export type OutcomeOf<O extends Operation> = Outcome<OutputOf<O>> &
  (O['method'] extends 'GET' ? unknown : { impact: ImpactStatement })

/** Ties an operation row to the code that carries it out; the types of input, target and answer come from the row. */
export function handler<O extends Operation>(
  operation: O,
  run: (context: Context, input: InputOf<O>, target: TargetOf<O['policy']>) => Promise<OutcomeOf<O>>,
): Handler {
  return { operation, run: run as Handler['run'] }
}
