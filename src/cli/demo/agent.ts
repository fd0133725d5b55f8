import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { Operation, OutputOf } from '../../contract/operation.ts'

/** An error result of a tool; an agent gets only its text. */
export class ToolRefusal extends Error {
  /** Id of the rule in the text, such as `F8`. */
  readonly rule: string | null

  constructor(text: string) {
    super(text)
    this.rule = /\(rule ([A-Z]\d+)\)/.exec(text)?.[1] ?? null
  }
}

/** The part of an MCP host that the demo needs: list tools and call them. */
export interface DemoAgent {
  listTools(): Promise<string[]>
  /** Calls the tool of an operation; returns its structured result or throws `ToolRefusal`. */
  call<Row extends Operation>(
    row: Row,
    args: Record<string, unknown>,
    options?: { onProgress?: (message: string) => void; signal?: AbortSignal },
  ): Promise<OutputOf<Row> & Record<string, unknown>>
  /** The last lines of the server's standard error. */
  serverLog(): string
  /** Ends the server like a host: closes its input, then SIGTERM, then SIGKILL. */
  close(): Promise<void>
}

/** Starts `longshore mcp` and connects to it over stdio. */
export async function startDemoAgent(entry: string, env: NodeJS.ProcessEnv): Promise<DemoAgent> {
  const transport = new StdioProcess(entry, env)
  const client = new Client({ name: 'longshore-demo', version: '1.0.0' })
  try {
    await client.connect(transport, { timeout: 20_000 })
  } catch (error) {
    await transport.close()
    throw new Error(`The MCP server did not start: ${(error as Error).message}\n${transport.log}`)
  }
  return {
    async listTools() {
      return (await client.listTools()).tools.map((tool) => tool.name)
    },
    async call(row, args, options = {}) {
      const result = await client.callTool({ name: row.id, arguments: args }, undefined, {
        timeout: 120_000,
        ...(options.signal ? { signal: options.signal } : {}),
        ...(options.onProgress
          ? {
              onprogress: (progress) => options.onProgress?.(progress.message ?? ''),
              resetTimeoutOnProgress: true,
            }
          : {}),
      })
      if (result.isError) throw new ToolRefusal(textOf(result.content))
      return result.structuredContent as never
    },
    serverLog: () => transport.log,
    close: () => client.close(),
  }
}

function textOf(content: unknown): string {
  const blocks = Array.isArray(content) ? (content as { type?: string; text?: string }[]) : []
  return blocks.flatMap((block) => (block.type === 'text' ? [block.text ?? ''] : [])).join('\n')
}

const keptLogLength = 8_000

/**
 * The SDK's own stdio transport leaves the server in our process group, where Ctrl-C would kill it before the
 * demo could clean up. This one gives it a group of its own; the protocol is the SDK's.
 */
class StdioProcess implements Transport {
  readonly #entry: string
  readonly #env: NodeJS.ProcessEnv
  readonly #buffer = new ReadBuffer()
  #child: ChildProcess | null = null
  log = ''
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void

  constructor(entry: string, env: NodeJS.ProcessEnv) {
    this.#entry = entry
    this.#env = env
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [this.#entry, 'mcp'], {
      env: this.#env,
      stdio: 'pipe',
      detached: true,
    })
    this.#child = child
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.log = (this.log + text).slice(-keptLogLength)
    })
    child.stdout.on('data', (chunk: Buffer) => this.#read(chunk))
    child.stdin.on('error', (error) => this.onerror?.(error))
    child.once('close', () => this.onclose?.())
    await once(child, 'spawn')
  }

  #read(chunk: Buffer): void {
    this.#buffer.append(chunk)
    try {
      for (let message = this.#buffer.readMessage(); message; message = this.#buffer.readMessage()) {
        this.onmessage?.(message)
      }
    } catch (error) {
      this.onerror?.(error as Error)
    }
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#child ?? {}
    if (!stdin?.writable) throw new Error('The MCP server has ended')
    if (!stdin.write(serializeMessage(message))) await once(stdin, 'drain')
  }

  async close(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.stdin?.end()
    const terms = setTimeout(() => child.kill('SIGTERM'), 5_000)
    const kills = setTimeout(() => child.kill('SIGKILL'), 15_000)
    await ended
    clearTimeout(terms)
    clearTimeout(kills)
  }
}
