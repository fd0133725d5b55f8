/** The words between the engine and its supervisor: lines of JSON over a unix socket, answers by `id`. */

/** Raised when a supervisor of an older build could no longer be understood. */
export const protocolVersion = 2

/** A container to start. Holds the tenant's variables, so it is sent and kept in memory, never written. */
export interface StartRequest {
  name: string
  podId: string
  appEnvId: string
  contentId: string
  template: string
  argv: string[]
  cwd: string
  /** Complete but for PORT and HOME, which the supervisor adds. */
  env: Record<string, string>
  /** The port the code declares; null when it serves none. */
  declaredPort: number | null
  memoryMb: number
  /** Databases keep their port: it is given as PORT instead of a free one. */
  fixedPort?: number
  /** What asks the program to end in order; SIGTERM to the whole group when absent. */
  stopSignal?: 'SIGINT'
  /** Its processes share memory: only what is theirs alone counts against `memoryMb`. */
  sharesMemory?: true
}

/** What the supervisor knows of a container; also its state file, so nothing secret is in it. */
export interface ContainerRecord {
  name: string
  podId: string
  appEnvId: string
  contentId: string
  template: string
  declaredPort: number | null
  memoryMb: number
  state: 'created' | 'running' | 'exited'
  pid: number | null
  /** Boot id and start time of `pid`: a process that got the same number later is another one. */
  pidIdentity: string | null
  /** What the child was given as PORT. */
  port: number | null
  /** Where the process tree was seen listening when that is not PORT. */
  seenAt: { host: string; port: number } | null
  startedAt: string | null
  finishedAt: string | null
  exitCode: number | null
  signal: string | null
  outOfMemory: boolean
}

/** A build step: lives only as long as the connection that asked for it. */
export interface StepRequest {
  argv: string[]
  cwd: string
  env: Record<string, string>
  timeoutMs: number
}

export interface StepResult {
  exitCode: number
  timedOut: boolean
}

export type Request = { id: number } & (
  | { verb: 'hello' }
  | { verb: 'start'; start: StartRequest }
  | { verb: 'stop'; name: string; graceSeconds: number }
  | { verb: 'remove'; name: string }
  | { verb: 'find'; name: string }
  | { verb: 'list' }
  | { verb: 'usage'; name: string }
  | { verb: 'step'; step: StepRequest }
  | { verb: 'cancel-step'; step: number }
)

/** A request without its id: the connection numbers them. */
export type Wish = Request extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never

export type Reply =
  | { id: number; ok: true; value: unknown }
  | { id: number; ok: false; error: string }
  /** One line of a build step, before its reply. */
  | { id: number; output: { stream: 'stdout' | 'stderr'; message: string } }
  /** Something changed; sent to every connection. */
  | { changed: string }

export interface Hello {
  protocol: number
  pid: number
}
