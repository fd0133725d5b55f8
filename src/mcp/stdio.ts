import { FrontDesk } from './front-desk.ts'
import { MessageLines } from './message-lines.ts'
import type { Prebuilt } from './prebuilt.ts'
import type { ListedTool } from './published-tool.ts'
import type { McpServer } from './server.ts'

export interface StdioOptions {
  prebuilt: Prebuilt
  tools: ListedTool[]
  /** Loads and configures what answers calls: at the first of them, or a quiet moment after the first answers. */
  openServer(): Promise<McpServer>
  /** What opening failed with; nothing can be answered then. */
  onBroken(error: unknown): void
  /** How long calls under way may go on after standard input has ended, in milliseconds. */
  graceMs?: number
}

/** Quiet time after an answer before loading begins: a client sends tools/list right after initialize. */
const quietMs = 150
const longestBytes = 16 * 1024 * 1024

/**
 * Serves MCP on this process's standard input and output. Resolves when input has ended and the calls under
 * way are answered or the grace is over, and at once when told to leave.
 */
export async function serveStdio(options: StdioOptions): Promise<void> {
  keepStandardOutputClean()
  const desk = new FrontDesk({
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
  const openWhenQuiet = onceQuiet(() => desk.open().catch(() => {}))
  const { inputEnded, told } = signsToLeave()
  const lines = new MessageLines({
    accept: (message) => desk.accept(message),
    refuse(refusal) {
      process.stderr.write(`longshore mcp: ${refusal.error.message}\n`)
      process.stdout.write(`${JSON.stringify(refusal)}\n`)
    },
    longestBytes,
  })
  process.stdin.on('data', (chunk: Buffer) => lines.push(chunk))
  await Promise.race([inputEnded, told])
  await Promise.race([told, atMost(options.graceMs ?? 10_000, desk.idle())])
  openWhenQuiet.cancel()
  await desk.close()
  await new Promise((resolve) => process.stdout.write('', resolve))
}

/**
 * `inputEnded`: nobody can ask any more. `told`: nobody can hear an answer any more, or the process was told to
 * leave, so that not even calls under way are waited for.
 */
function signsToLeave(): { inputEnded: Promise<void>; told: Promise<void> } {
  const inputEnded = new Promise<void>((resolve) => {
    const leave = () => resolve()
    process.stdin.once('end', leave).once('close', leave).once('error', leave)
  })
  const told = new Promise<void>((resolve) => {
    const leave = () => resolve()
    process.stdout.on('error', leave)
    process.on('SIGTERM', leave).on('SIGINT', leave)
  })
  return { inputEnded, told }
}

/** Anything a dependency prints would break the protocol: it goes to standard error. */
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

/** Call it at every sign of life; `task` runs once, after the first quiet moment. */
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
