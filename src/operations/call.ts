import type { Operation } from '../contract/operation.ts'

/** From which surface a call came; recorded in the journal, never trusted for a decision. */
export type Surface = 'rest' | 'mcp' | 'cli'

/** One call of one operation, its input already checked against the row's schema. */
export interface Call {
  operation: Operation
  input: Record<string, unknown>
  /** Value of the Authorization header without `Bearer `; null when there was none. */
  token: string | null
  surface: Surface
  idempotencyKey: string | null
  dryRun: boolean
  /** Address the caller reached this server at, such as `http://box:4400`; for addresses shown to that caller only. */
  reachedAt?: string | undefined
}

/** `body` is the JSON text, kept as text so that a replay is byte for byte the first answer. */
export interface Reply {
  status: number
  body: string
}

/** Whence and for what somebody comes, for the rate limits. */
export interface Approach {
  /** Remote address; failed authentications count against it. */
  address: string
  /** The call changes nothing. */
  reads: boolean
}

/** The port between the API and the operations. Refusals are thrown as `AppError`. */
export interface OperationRunner {
  run(call: Call): Promise<Reply>
  /**
   * Throws `unauthenticated` unless the token is good: checked before the input is even read (A5). With
   * `approach` the call counts against the rate limits, and is `rate-limited` above them.
   */
  authenticate(token: string | null, approach?: Approach): Promise<void>
}

/** Takes the one PUT of an upload address (contract.md 2, request-deploy-storage-key). */
export interface UploadReceiver {
  /** Streams `body` to disk; refuses unknown, expired and used addresses, and more than the size limit. */
  receive(uploadSecret: string, body: AsyncIterable<Buffer>, declaredLength: number | null): Promise<void>
}
