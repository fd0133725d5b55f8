import type { HttpSend } from '../../../client/http-send.ts'
import type { Clock } from '../../../clock.ts'
import type { Log } from '../../../log.ts'
import type { SpanSink } from '../../../trace.ts'
import type { QuestionStates } from '../../policy/questions.ts'
import type { ToolPolicy } from '../../policy/tool-policy.ts'
import type { Tool } from '../../tools/define-tool.ts'
import type { Permissions } from '../../tools/published-tool.ts'
import type { createMcpServer } from '../server.ts'
import type { createServer2026 } from '../server-2026.ts'
import type { McpOAuth } from './oauth.ts'

export interface McpHttpLimits {
  /** Largest request body, in bytes. */
  bodyBytes: number
  /** How long a request body may take to arrive. */
  bodyMs: number
  /** Most sessions kept. */
  sessions: number
  /** Most sessions of one principal, across all its tokens. */
  sessionsOfOne: number
  sessionIdleMs: number
  /** How long a session keeps the stream of a call after its connection broke. */
  brokenStreamMs: number
}

export const mcpHttpLimits: McpHttpLimits = {
  bodyBytes: 1024 * 1024,
  bodyMs: 30_000,
  sessions: 1_000,
  sessionsOfOne: 100,
  sessionIdleMs: 10 * 60_000,
  brokenStreamMs: 60_000,
}

export interface McpHttpOptions {
  registry: readonly Tool[]
  /** Address of the REST API; read at every call. */
  apiUrl(): string
  /** How requests reach it; over a connection by default. */
  send?: HttpSend
  log: Log
  clock: Clock
  /** Gets a span for each tool call. */
  spans?: SpanSink | undefined
  limits?: Partial<McpHttpLimits>
  /** The address that the server is bound to, which decides which `Host` and `Origin` it accepts; default loopback. */
  host?: string
  /** The public host name, if there is one. */
  installationName?: string | undefined
  toolPolicy?: Partial<ToolPolicy>
  /**
   * Resolves to the principal, for counting its sessions. Throws `unauthenticated` for an unknown token, so that the
   * response is 401 and not a result, and `rate-limited` for a caller or an address with too many requests.
   */
  authenticate?(token: string, address: string): Promise<string>
  /** Sign-in of agents; absent = off. */
  oauth?: McpOAuth | undefined
  /** The highest permissions of a token; its list omits tools that it may never call. Absent = the whole list. */
  permissions?(token: string): Promise<Permissions>
  /** States of questions that end a call (2026-07-28); default: of this process only. */
  questions?: QuestionStates
  /** The adapters; tests of the transport replace them with ones that support more of the protocol. */
  createServer?: typeof createMcpServer
  createServer2026?: typeof createServer2026
}
