import { cancelledIdOf, type RequestId, type RpcMessage, requestIdOf } from './json-rpc.ts'
import type { Prebuilt } from './prebuilt.ts'
import { listedPrompts } from './prompts.ts'
import type { ListedTool } from './published-tool.ts'
import { listedResources, listedTemplates } from './resources.ts'
import type { McpServer, Transport } from './server.ts'

export interface FrontDeskOptions {
  prebuilt: Prebuilt
  tools: ListedTool[]
  /** Writes one message to the client. */
  write(message: unknown): void
  /** Loads the server behind the desk; asked once. */
  openServer(): Promise<McpServer>
}

/**
 * Answers what a host asks first, `initialize` and the lists, from what was built, so that the library (50 ms
 * to load) is not needed for it. Everything else opens the server behind and goes to it, in order; it is shown
 * the `initialize` as well, so that it knows the client, and its answer to that is dropped.
 */
export class FrontDesk {
  readonly #options: FrontDeskOptions
  readonly #waiting = new Set<RequestId>()
  readonly #listeners = new Set<() => void>()
  #queue: RpcMessage[] | null = []
  /** Whether `initialize` was answered here, and the id whose second answer, from the library, is dropped. */
  #isGreeted = false
  #dropped: RequestId | undefined
  #server: Promise<McpServer> | undefined
  #transport: Transport | undefined

  constructor(options: FrontDeskOptions) {
    this.#options = options
  }

  accept(message: RpcMessage): void {
    const id = requestIdOf(message)
    const answer = id === undefined || this.#queue === null ? undefined : this.#answerOf(message)
    if (answer === unknownMethod) {
      this.#options.write({ jsonrpc: '2.0', id, error: unknownMethod })
      return
    }
    if (answer !== undefined) {
      this.#options.write({ jsonrpc: '2.0', id, result: answer })
      if (message.method !== 'initialize') return
      this.#isGreeted = true
      this.#dropped = id
      this.#queue?.push(message)
      return
    }
    if (id !== undefined) this.#waiting.add(id)
    if (this.#queue === null) {
      this.#pass(message)
      return
    }
    this.#queue.push(message)
    if (id !== undefined) void this.open()
  }

  /** Opens the server behind the desk and hands over what waits. Throws what `openServer` throws. */
  open(): Promise<McpServer> {
    this.#server ??= this.#openServer()
    return this.#server
  }

  /** Resolves when every request that went to the server is answered. */
  async idle(): Promise<void> {
    while (this.#waiting.size > 0) {
      await new Promise<void>((resolve) => this.#listeners.add(resolve))
    }
  }

  async close(): Promise<void> {
    await (await this.#server)?.close()
  }

  #answerOf({ method, params = {} }: RpcMessage): unknown {
    const { hello, versions } = this.#options.prebuilt
    if (method === 'ping') return {}
    if (method === 'server/discover') return unknownMethod
    if (method?.endsWith('/list')) return this.#isGreeted ? this.#listOf(method) : undefined
    if (method !== 'initialize' || this.#isGreeted) return undefined
    const { protocolVersion, capabilities, clientInfo } = params
    // Anything odd is for the library to refuse.
    if (typeof protocolVersion !== 'string' || !isObject(capabilities) || !isObject(clientInfo))
      return undefined
    return versions.includes(protocolVersion) ? { ...hello, protocolVersion } : hello
  }

  #listOf(method: string): unknown {
    const { tools } = this.#options
    if (method === 'tools/list') return { tools }
    const names = new Set(tools.map(({ name }) => name))
    if (method === 'prompts/list') return { prompts: listedPrompts(names) }
    if (method === 'resources/list') return { resources: listedResources(names) }
    return method === 'resources/templates/list' ? { resourceTemplates: listedTemplates(names) } : undefined
  }

  async #openServer(): Promise<McpServer> {
    const server = await this.#options.openServer()
    const transport: Transport = {
      start: async () => {},
      close: async () => transport.onclose?.(),
      send: async (message) => this.#send(message as RpcMessage),
    }
    await server.connect(transport)
    this.#transport = transport
    const queue = this.#queue ?? []
    this.#queue = null
    for (const message of queue) this.#pass(message)
    return server
  }

  #pass(message: RpcMessage): void {
    this.#transport?.onmessage?.(message as never)
    // The library answers a cancelled request with nothing.
    const cancelled = cancelledIdOf(message)
    if (cancelled !== undefined) this.#done(cancelled)
  }

  #send(message: RpcMessage): void {
    const { id } = message
    if (message.method !== undefined || id === undefined) {
      this.#options.write(message)
      return
    }
    if (id === this.#dropped) {
      this.#dropped = undefined
      return
    }
    this.#options.write(message)
    this.#done(id)
  }

  #done(id: RequestId): void {
    this.#waiting.delete(id)
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }
}

/** A newer client asks first whether a newer protocol is spoken here; this answer makes it go on as before. */
const unknownMethod = { code: -32601, message: 'Method not found' }

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
