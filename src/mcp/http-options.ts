import type { Clock } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Tool } from './define-tool.ts'
import type { Exposure } from './exposure.ts'
import type { Standing } from './published-tool.ts'
import type { createMcpServer } from './server.ts'

export interface McpHttpLimits {
  /** Largest request body, in bytes. */
  bodyBytes: number
  /** How long a request body may take to arrive. */
  bodyMs: number
  /** Most sessions kept; the one longest unused goes first. */
  sessions: number
  /** Most sessions of one token: who opens more closes their own, never another one's. */
  sessionsOfOne: number
  sessionIdleMs: number
  /** How long a session keeps the stream of a call whose connection broke. */
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
  /** Where the REST API answers, asked at every call. */
  apiUrl(): string
  log: Log
  clock: Clock
  limits?: Partial<McpHttpLimits>
  /** Host names besides the loopback ones under which this server may be addressed; `any` when not on loopback. */
  allowedHosts?: readonly string[] | 'any'
  exposure?: Partial<Exposure>
  /**
   * Throws `unauthenticated` for a token nobody has, so that it is answered 401 and not inside a result, and
   * `rate-limited` for one, or an address, that asks too much.
   */
  authenticate?(token: string, address: string): Promise<void>
  /** What a token may do at best: its list leaves out what it may never call. Absent = the whole list. */
  standing?(token: string): Promise<Standing>
  /** The adapter; a test of the transport gives one that speaks more of the protocol. */
  createServer?: typeof createMcpServer
}
