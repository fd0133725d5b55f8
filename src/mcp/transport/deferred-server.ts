import { withPlainError } from './invalid-params.ts'
import { cancelledIdOf, type RequestId, type RpcMessage, requestIdOf } from './json-rpc.ts'
import type { McpServer, Transport } from './server.ts'

export interface DeferredServerOptions {
  /** Writes one message to the client. */
  write(message: unknown): void
  /** Loads the full server; called once. */
  openServer(): Promise<McpServer>
}

/** A full server that is loaded for the first request that needs it. Messages before that wait, in order. */
export class DeferredServer {
  readonly #options: DeferredServerOptions
  readonly #waiting = new Set<RequestId>()
  readonly #listeners = new Set<() => void>()
  #queue: RpcMessage[] | null = []
  #dropped: RequestId | undefined
  #server: Promise<McpServer> | undefined
  #transport: Transport | undefined

  constructor(options: DeferredServerOptions) {
    this.#options = options
  }

  get isLoaded(): boolean {
    return this.#queue === null
  }

  /** Passes a message on; a request loads the server. */
  accept(message: RpcMessage): void {
    const id = requestIdOf(message)
    // A subscription is answered when it ends, so it must not be waited for.
    if (id !== undefined && message.method !== 'subscriptions/listen') this.#waiting.add(id)
    if (this.#queue === null) {
      this.#pass(message)
      return
    }
    this.#queue.push(message)
    if (id !== undefined) void this.open()
  }

  /** Keeps a request that was answered without the server; the server's own answer is dropped. */
  inform(message: RpcMessage): void {
    this.#dropped = requestIdOf(message)
    this.#queue?.push(message)
  }

  /** Loads the server and passes on the waiting messages. Throws what `openServer` throws. */
  open(): Promise<McpServer> {
    this.#server ??= this.#open()
    return this.#server
  }

  /** Resolves when every request to the server has its response. */
  async idle(): Promise<void> {
    while (this.#waiting.size > 0) {
      await new Promise<void>((resolve) => this.#listeners.add(resolve))
    }
  }

  async close(): Promise<void> {
    await (await this.#server)?.close()
  }

  async #open(): Promise<McpServer> {
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
    // The libraries never answer a canceled request.
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
    this.#options.write(withPlainError(message))
    this.#done(id)
  }

  #done(id: RequestId): void {
    this.#waiting.delete(id)
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }
}
