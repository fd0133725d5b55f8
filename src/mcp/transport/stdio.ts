import type { Prebuilt } from '../tools/prebuilt.ts'
import type { ListedTool } from '../tools/published-tool.ts'
import type { DeferredServer } from './deferred-server.ts'
import { claimsRevision } from './era.ts'
import { hasBatches, type RpcMessage } from './json-rpc.ts'
import { LazyDiscover } from './lazy-discover.ts'
import { LazyInitialize } from './lazy-initialize.ts'
import { MessageLines } from './message-lines.ts'
import type { McpServer } from './server.ts'

/** `initialize`: the revisions that begin with it. `2026`: revision 2026-07-28. */
export type Era = 'initialize' | '2026'

interface StdioOptions {
  prebuilt: Prebuilt
  tools: ListedTool[]
  /** Loads and configures the full server of an era: at the first call, or shortly after the first responses. */
  openServer(era: Era): Promise<McpServer>
  /** Called when opening failed; no call can be served then. */
  onBroken(error: unknown): void
  /** How long calls in flight may continue after standard input has ended, in milliseconds. */
  graceMs?: number
}

/** Idle time after a response before loading begins: a client sends tools/list right after initialize. */
const quietMs = 150
/** For the last responses at the end of a session. */
const flushMs = 2_000
const longestBytes = 16 * 1024 * 1024

/**
 * Serves MCP on this process's standard input and output. Resolves when input has ended and the calls in flight are
 * answered or the grace is over, and immediately on a signal.
 */
export async function serveStdio(options: StdioOptions): Promise<void> {
  keepStandardOutputClean()
  const openingWith = (era: Era) => ({
    ...options,
    write(message: unknown) {
      process.stdout.write(`${JSON.stringify(message)}\n`)
      openWhenQuiet()
    },
    openServer() {
      const opening = options.openServer(era)
      opening.catch(options.onBroken)
      return opening
    },
  })
  const initialize = new LazyInitialize(openingWith('initialize'))
  const discover = new LazyDiscover(openingWith('2026'))
  const servers = [initialize.server, discover.server]
  let used: LazyInitialize | LazyDiscover = initialize
  const openWhenQuiet = onceQuiet(() => used.server.open().catch(() => {}))
  const { inputEnded, terminated } = endOfSession()
  let revision: string | undefined
  const lines = new MessageLines({
    accept(message) {
      // Notifications such as cancellations need not name their revision: they belong to the era in use.
      if (claimsRevision(message)) used = discover
      else if (message.id !== undefined) used = initialize
      if (message.method === 'initialize') revision = revisionOf(message, options.prebuilt)
      used.accept(message)
    },
    takesBatches: () => used === initialize && hasBatches(revision),
    refuse(refusal) {
      process.stderr.write(`longshore mcp: ${refusal.error.message}\n`)
      process.stdout.write(`${JSON.stringify(refusal)}\n`)
    },
    longestBytes,
  })
  process.stdin.on('data', (chunk: Buffer) => lines.push(chunk))
  await Promise.race([inputEnded, terminated])
  await Promise.race([terminated, atMost(options.graceMs ?? 10_000, allIdle(servers))])
  openWhenQuiet.cancel()
  await Promise.all(servers.map((server) => server.close()))
  // A client that is there but does not read would keep this process from ending.
  await atMost(flushMs, new Promise((resolve) => process.stdout.write('', () => resolve())))
}

/** The revision that the server agrees on. */
function revisionOf({ params }: RpcMessage, { versions, hello }: Prebuilt): string {
  const { protocolVersion } = Object(params) as { protocolVersion?: unknown }
  return versions.find((known) => known === protocolVersion) ?? hello.protocolVersion
}

async function allIdle(servers: readonly DeferredServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.idle()))
}

/**
 * `inputEnded`: no more requests arrive. `terminated`: the client no longer reads responses, or the process got a
 * signal, so calls in flight are abandoned.
 */
function endOfSession(): { inputEnded: Promise<void>; terminated: Promise<void> } {
  const inputEnded = new Promise<void>((resolve) => {
    const leave = () => resolve()
    process.stdin.once('end', leave).once('close', leave).once('error', leave)
  })
  const terminated = new Promise<void>((resolve) => {
    const leave = () => resolve()
    process.stdout.on('error', leave)
    process.on('SIGTERM', leave).on('SIGINT', leave)
  })
  return { inputEnded, terminated }
}

/** Output of a dependency would break the protocol, so it goes to standard error. */
function keepStandardOutputClean(): void {
  const toStandardError = (...values: unknown[]) => console.error(...values)
  console.log = toStandardError
  console.info = toStandardError
  console.debug = toStandardError
}

async function atMost(limitMs: number, work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs)
  })
  await Promise.race([limit, work])
  clearTimeout(timer)
}

/** Call the returned function at every activity; `task` runs once, after the first idle period. */
function onceQuiet(task: () => void): (() => void) & { cancel(): void } {
  let timer: NodeJS.Timeout | undefined
  let isOver = false
  const cancel = () => {
    isOver = true
    clearTimeout(timer)
  }
  const alive = () => {
    if (isOver) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      isOver = true
      task()
    }, quietMs)
  }
  return Object.assign(alive, { cancel })
}
