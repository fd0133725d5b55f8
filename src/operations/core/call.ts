import type { ChatOrigin, ConfirmedBy, Surface } from '../../contract/audit.ts'
import type { Operation } from '../../contract/operation.ts'
import type { Tx } from '../../store/db.ts'
import type { CredentialKind } from './caller.ts'

/** An operation and its input, already checked against the row's schema. */
export interface StepCall {
  operation: Operation
  input: Record<string, unknown>
}

/** One call of one operation. */
export interface Call extends StepCall {
  /** Value of the Authorization header without `Bearer `; null when there was none. */
  token: string | null
  /** The kind of credential in `token`; default a token. */
  credential?: CredentialKind | undefined
  /** Result of `authenticate`: reads of principals alternate until the account is known. */
  principal?: string | undefined
  /** Recorded in the audit log, never trusted for a decision. */
  surface: Surface
  /** The agent session that the caller names; recorded like `surface`. */
  agentSession?: string | undefined
  /** How the agent names itself; recorded like `surface`. */
  agent?: string | undefined
  /** For the surface `chat`: the chat user, as the chat signed it. */
  chat?: ChatOrigin | undefined
  /** By the word of trusted proxies. */
  clientAddress?: string | undefined
  /** The span of this call in its trace (W3C Trace Context). */
  traceparent: string
  idempotencyKey: string | null
  dryRun: boolean
  /** What answered the question before the call; recorded like `surface`. */
  confirmedBy?: ConfirmedBy | undefined
  /** With `dryRun`: the call was refused before it came here, which the audit log records. */
  declined?: boolean | undefined
  /** The approval that people gave to exactly this call: rules that ask are satisfied. */
  approval?: string | undefined
  /** Address the caller reached this server at, such as `http://box:4400`; for addresses shown to that caller only. */
  requestedUrl?: string | undefined
  /** Aborted when the caller has left or this instance stops; ends waits. */
  signal?: AbortSignal | undefined
  /** Runs in the transaction of a write, after the permission check. */
  also?: (tx: Tx) => Promise<void>
}

/** `body` is the JSON text, kept as text so that a replay is byte for byte the first answer. */
export interface Reply {
  status: number
  body: string
}

/** Origin and purpose of a request, for the rate limits. */
export interface RequestOrigin {
  /** Remote address; failed authentications count against it. */
  address: string
  /** The call is a read. */
  reads: boolean
  /** The kind of the credential; default a token. */
  credential?: CredentialKind | undefined
}

/** The port between the API and the operations. Refusals are thrown as `AppError`. */
export interface OperationRunner {
  run(call: Call): Promise<Reply>
  /**
   * Resolves to the caller's principal. Throws `unauthenticated` unless the token is good: checked before the
   * input is even read (A5). With `origin` the call counts against the rate limits, and is `rate-limited` above
   * them.
   */
  authenticate(token: string | null, origin?: RequestOrigin): Promise<string>
}

/** For the platform itself: a read with the rights of an environment's own token, without rate limits. */
export interface EnvironmentReader {
  readAsEnvironment(appEnvId: string, operation: Operation): Promise<unknown>
}

/** The same with the rights that the user of a remediation has now: a fix may be on another environment. */
export interface RemediationReader {
  readForRemediation(userId: string, appEnvId: string, operation: Operation): Promise<unknown>
}

/** Accepts the one PUT of an upload address (docs/interface.md#uploads). */
export interface UploadReceiver {
  /** Streams `body` to disk; refuses unknown, expired and used addresses, and more than the size limit. */
  receive(uploadSecret: string, body: AsyncIterable<Buffer>, declaredLength: number | null): Promise<void>
}
