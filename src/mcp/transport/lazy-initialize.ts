import { listedPrompts } from '../resources/prompts.ts'
import { listedResources, listedTemplates } from '../resources/resources.ts'
import type { Prebuilt } from '../tools/prebuilt.ts'
import type { ListedTool } from '../tools/published-tool.ts'
import { cancelledIdOf, type RequestId, type RpcMessage, requestIdOf } from './json-rpc.ts'
import type { McpServer, Transport } from './server.ts'

interface LazyInitializeOptions {
  prebuilt: Prebuilt
  tools: ListedTool[]
  /** Writes one message to the client. */
  write(message: unknown): void
  /** Loads the full server; called once. */
  openServer(): Promise<McpServer>
}

/**
 * Answers the first requests of a host, `initialize` and the lists, from the prebuilt file, without loading the library
 * (50 ms). Any other message loads the full server and goes to it, in order. That server also gets the `initialize`, so
 * that it knows the client; its response to that is dropped.
 */
export class LazyInitialize {
  readonly #options: LazyInitializeOptions
  readonly #waiting = new Set<RequestId>()
  readonly #listeners = new Set<() => void>()
  #queue: RpcMessage[] | null = []
  /** Whether `initialize` was answered here, and its id, for dropping the library's second response. */
  #isGreeted = false
  #dropped: RequestId | undefined
  #server: Promise<McpServer> | undefined
  #transport: Transport | undefined

  constructor(options: LazyInitializeOptions) {
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

  /** Opens the full server and passes on the waiting messages. Throws what `openServer` throws. */
  open(): Promise<McpServer> {
    this.#server ??= this.#openServer()
    return this.#server
  }

  /** Resolves when every request to the full server has its response. */
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
    // The library rejects malformed requests.
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
    // The library never answers a canceled request.
    const canceledId = cancelledIdOf(message)
    if (canceledId !== undefined) this.#done(canceledId)
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

/** A newer client first probes for a newer protocol; this response makes it fall back to `initialize`. */
const unknownMethod = { code: -32601, message: 'Method not found' }

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
