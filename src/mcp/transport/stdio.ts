import type { Prebuilt } from '../tools/prebuilt.ts'
import type { ListedTool } from '../tools/published-tool.ts'
import { LazyInitialize } from './lazy-initialize.ts'
import { MessageLines } from './message-lines.ts'
import type { McpServer } from './server.ts'

interface StdioOptions {
  prebuilt: Prebuilt
  tools: ListedTool[]
  /** Loads and configures the full server: at the first call, or shortly after the first responses. */
  openServer(): Promise<McpServer>
  /** Called when opening failed; no call can be served then. */
  onBroken(error: unknown): void
  /** How long calls in flight may continue after standard input has ended, in milliseconds. */
  graceMs?: number
}

/** Idle time after a response before loading begins: a client sends tools/list right after initialize. */
const quietMs = 150
const longestBytes = 16 * 1024 * 1024

/**
 * Serves MCP on this process's standard input and output. Resolves when input has ended and the calls in flight are
 * answered or the grace is over, and immediately on a signal.
 */
export async function serveStdio(options: StdioOptions): Promise<void> {
  keepStandardOutputClean()
  const session = new LazyInitialize({
    ...options,
    write(message) {
      process.stdout.write(`${JSON.stringify(message)}\n`)
      openWhenQuiet()
    },
    openServer() {
      const opening = options.openServer()
      opening.catch(options.onBroken)
      return opening
    },
  })
  const openWhenQuiet = onceQuiet(() => session.open().catch(() => {}))
  const { inputEnded, terminated } = endOfSession()
  const lines = new MessageLines({
    accept: (message) => session.accept(message),
    refuse(refusal) {
      process.stderr.write(`longshore mcp: ${refusal.error.message}\n`)
      process.stdout.write(`${JSON.stringify(refusal)}\n`)
    },
    longestBytes,
  })
  process.stdin.on('data', (chunk: Buffer) => lines.push(chunk))
  await Promise.race([inputEnded, terminated])
  await Promise.race([terminated, atMost(options.graceMs ?? 10_000, session.idle())])
  openWhenQuiet.cancel()
  await session.close()
  await new Promise((resolve) => process.stdout.write('', resolve))
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
