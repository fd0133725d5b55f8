/** The protocol between the engine and its supervisor: lines of JSON over a Unix socket, replies matched by `id`. */

/** Raise this if a supervisor of an older build can no longer be understood. */
export const protocolVersion = 2

/** A container to start. Contains the tenant's variables, so it is sent and kept in memory, never written to disk. */
export interface StartRequest {
  name: string
  podId: string
  appEnvId: string
  argv: string[]
  cwd: string
  /** Complete except for PORT and HOME, which the supervisor adds. */
  env: Record<string, string>
  /** The port the code declares; null if it serves none. */
  declaredPort: number | null
  memoryMb: number
  /** The first two processes make its private root and are not its own. */
  isRooted?: boolean
  /** Databases have a fixed port, passed as PORT instead of a free one. */
  fixedPort?: number
  /** Signal for a graceful shutdown; SIGTERM to the whole group if absent. */
  stopSignal?: 'SIGINT'
}

/** The supervisor's state of a container, also its state file: it contains no secrets. */
export interface ContainerRecord {
  name: string
  podId: string
  appEnvId: string
  declaredPort: number | null
  memoryMb: number
  state: 'created' | 'running' | 'exited'
  pid: number | null
  /** Boot id and start time of `pid`, to detect that the number was reused. */
  pidIdentity: string | null
  /** The value of PORT for the child. */
  port: number | null
  /** Host of its port, see `outsideHost`. */
  host?: string
  /** Address where the process tree accepts connections from outside, if that is not PORT on all interfaces. */
  seenAt: { host: string; port: number } | null
  startedAt: string | null
  finishedAt: string | null
  exitCode: number | null
  signal: string | null
  outOfMemory: boolean
}

/** A build step; ends with the connection that requested it. */
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
  | { verb: 'listeners'; name: string }
  | { verb: 'step'; step: StepRequest }
  | { verb: 'cancel-step'; step: number }
)

/** A request without its id, which the connection assigns. */
export type RequestBody = Request extends infer R ? (R extends { id: number } ? Omit<R, 'id'> : never) : never

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
