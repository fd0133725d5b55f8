import { FrontDesk } from './front-desk.ts'
import { isRpcMessage, type RpcMessage } from './json-rpc.ts'
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
/** A line beyond this is no message of a host. */
const longestLineBytes = 16 * 1024 * 1024

/**
 * Serves MCP on this process's standard input and output. Resolves when input has ended and the calls under
 * way are answered, or the grace is over.
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
  const ended = inputEnd()
  readMessages((message) => desk.accept(message))
  await ended
  await atMost(options.graceMs ?? 10_000, desk.idle())
  openWhenQuiet.cancel()
  await desk.close()
  await new Promise((resolve) => process.stdout.write('', resolve))
}

/** Reads messages line by line; a line that is none is reported and passed over. */
function readMessages(accept: (message: RpcMessage) => void): void {
  let chunks: Buffer[] = []
  let size = 0
  process.stdin.on('data', (chunk: Buffer) => {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      const line = Buffer.concat([...chunks, chunk.subarray(start, end)]).toString('utf8')
      chunks = []
      size = 0
      start = end + 1
      const message = messageOf(line)
      if (message !== null) accept(message)
    }
    if (start === chunk.length) return
    chunks.push(chunk.subarray(start))
    size += chunk.length - start
    if (size > longestLineBytes) {
      process.stderr.write(`longshore mcp: a line of more than ${longestLineBytes} bytes ends the session\n`)
      process.stdin.destroy()
    }
  })
}

function messageOf(line: string): RpcMessage | null {
  if (line.trim() === '') return null
  try {
    const value: unknown = JSON.parse(line)
    if (isRpcMessage(value)) return value
  } catch {
    // Told below.
  }
  process.stderr.write('longshore mcp: a line on standard input is not a JSON-RPC 2.0 message\n')
  return null
}

/** Resolves when nobody can ask any more: input ended, output broke, or the process was told to leave. */
function inputEnd(): Promise<void> {
  return new Promise((resolve) => {
    const leave = () => resolve()
    process.stdin.once('end', leave).once('close', leave).once('error', leave)
    process.stdout.once('error', leave)
    process.once('SIGTERM', leave).once('SIGINT', leave)
  })
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
