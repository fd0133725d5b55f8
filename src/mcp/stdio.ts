import type { ListedTool } from './published-tool.ts'
import type { IncomingCall, Transport } from './server.ts'
import { createMcpServer, stdioTransport } from './server.ts'
import type { ToolResult } from './tool-result.ts'

export interface StdioOptions {
  tools: ListedTool[]
  callTool(call: IncomingCall): Promise<ToolResult>
  /** Called once, when the first requests have been answered: the time to load and start things. */
  onAnswered(): void
  /** How long calls under way may go on after standard input has ended, in milliseconds. */
  graceMs?: number
}

/** Quiet time after an answer before loading begins: a client sends tools/list right after initialize. */
const quietMs = 150

/**
 * Serves MCP on this process's standard input and output. Resolves when input has ended and the calls under
 * way are answered, or the grace is over.
 */
export async function serveStdio(options: StdioOptions): Promise<void> {
  keepStandardOutputClean()
  const underWay = new Set<Promise<unknown>>()
  const ended = inputEnd()
  const transport = announceFirstAnswers(stdioTransport(), options.onAnswered)
  const server = createMcpServer({
    tools: () => options.tools,
    callTool(call) {
      const result = options.callTool(call)
      // Kept until the answer has had a turn of the event loop to be written.
      const done = result.then(nextTurn, nextTurn).finally(() => underWay.delete(done))
      underWay.add(done)
      return result
    },
  })
  await server.connect(transport)
  await ended
  await settled(underWay, options.graceMs ?? 10_000)
  await server.close()
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
  console.log = console.error
  console.info = console.error
  console.debug = console.error
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

async function settled(underWay: Set<Promise<unknown>>, graceMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const grace = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, graceMs)
  })
  const allDone = (async () => {
    // A message that arrived together with the end is still on its way through the library.
    await nextTurn()
    await nextTurn()
    while (underWay.size > 0) await Promise.allSettled([...underWay])
  })()
  await Promise.race([grace, allDone])
  clearTimeout(timer)
}

/** Calls `onAnswered` once, a quiet moment after the first answers went out. */
function announceFirstAnswers(transport: Transport, onAnswered: () => void): Transport {
  const send = transport.send.bind(transport)
  let timer: NodeJS.Timeout | undefined
  let announced = false
  transport.send = async (message, sendOptions) => {
    await send(message, sendOptions)
    if (announced) return
    clearTimeout(timer)
    timer = setTimeout(() => {
      announced = true
      onAnswered()
    }, quietMs)
  }
  return transport
}
