import type { AccountSettings } from '../contract/accounts.ts'
import type { LogLine, LogType } from '../contract/app-env-reads.ts'
import type { Host } from '../contract/app-envs.ts'
import type { InputOf, Operation, OutputOf } from '../contract/operation.ts'
import type { DatabaseAccess, DatabaseSecrets } from '../domain/database-access.ts'
import type { DatabaseOffers } from '../domain/database-presets.ts'
import type { ProbeOrder, ProbeOutcome } from '../domain/function-probe.ts'
import type { MeasuredValues } from '../metrics/metric-source.ts'
import type { Tx } from '../store/db.ts'
import type { SecretBox } from '../store/secret-box.ts'
import type { Target, TargetOf } from './access-targets.ts'
import type { Surface } from './call.ts'
import type { Caller } from './caller.ts'

/** What the installation is, as far as operations need to know. */
export interface Installation {
  regions(): { region: string; name: string; functionDomain: string | null; engine: string }[]
  /** Public address of the API, without a trailing slash. */
  apiUrl(): string
  /** Passwords in database URLs are masked unless `secrets` are given. */
  hosts(
    environment: {
      cliEnvName: string
      region: string
      database?: DatabaseAccess
      applied?: { containers: number }
    },
    app: { port: number | null; dockerPreset: string },
    secrets?: DatabaseSecrets,
  ): Host[]
  /** What the region's engine, or any of them, can run of the managed databases, as it was last seen. */
  databaseOffers(region?: string): DatabaseOffers
  /** Where database images come from instead of their own registries; null for these. */
  databaseImageSource: string | null
  defaultAccountSettings: AccountSettings
  /** How many times faster alert durations and query ranges run (contract.md 11). */
  clockScale: number
}

export interface LogQuery {
  type: LogType
  stream?: 'stdout' | 'stderr' | undefined
  podName?: string | undefined
  contentId?: string | undefined
  podNames?: readonly string[] | undefined
  search?: string | undefined
  size: number
  from?: string | undefined
  to?: string | undefined
  cursor?: string | undefined
}

/** The port to kept log lines. */
export interface LogReader {
  read(
    appEnvId: string,
    query: LogQuery,
  ): Promise<{ logs: LogLine[]; cursor: string | null; truncated: boolean }>
}

/** The port to the loop that sends notices. */
export interface NoticeSender {
  /** Notices may have been stored: look. */
  wake(): void
  /** Sends one stored notice now, with at most two attempts; never throws. */
  sendNow(noticeId: string): Promise<{ delivered: boolean; attempts: NoticeAttempt[] }>
}

/** The port to what loads a function. */
export interface FunctionProber {
  /** Resolves within 20 s and a little; an `AppError` when another probe is under way. */
  probe(order: ProbeOrder): Promise<ProbeOutcome>
}

export interface NoticeAttempt {
  at: string
  ok: boolean
  reason?: string
}

export interface Context {
  tx: Tx
  caller: Caller
  surface: Surface
  /** Address of the API for this caller, without a trailing slash. */
  apiUrl: string
  /** ISO time of this call. */
  now: string
  secrets: SecretBox
  logs: LogReader
  metrics: MeasuredValues
  notices: NoticeSender
  prober: FunctionProber
  installation: Installation
}

/** What a write did, for the journal, a dry run and undo alike. Secrets in it are sealed. */
export interface Change {
  objectType:
    | 'app'
    | 'app-env'
    | 'job-run'
    | 'account'
    | 'membership'
    | 'token'
    | 'upload'
    | 'contact-point'
    | 'alert'
    | 'backup'
    | 'restore'
  objectId: string
  /** Null for what belongs to no account, such as a user's own tokens. */
  accountId: string | null
  before: unknown
  after: unknown
}

export interface Outcome<Answer> {
  answer: Answer
  change?: Change | undefined
  /** What it will make happen, in a person's words; shown by a dry run. */
  effects?: string[]
  /** What a dry run answers in addition; asked for only then. */
  foresee?: () => Promise<{ effects: string[]; facts: Record<string, unknown> }>
  /**
   * What is known only after the wish is stored, such as whether a test notice arrived: awaited outside the
   * transaction, then the answer.
   */
  settle?: () => Promise<Answer>
  /** Environments the reconciler should look at once this is stored. */
  wake?: string[]
}

export interface Handler {
  operation: Operation
  run(context: Context, input: Record<string, unknown>, target: Target): Promise<Outcome<unknown>>
}

/** Ties an operation row to the code that carries it out; the types of input, target and answer come from the row. */
export function handler<O extends Operation>(
  operation: O,
  run: (context: Context, input: InputOf<O>, target: TargetOf<O['policy']>) => Promise<Outcome<OutputOf<O>>>,
): Handler {
  return { operation, run: run as Handler['run'] }
}
