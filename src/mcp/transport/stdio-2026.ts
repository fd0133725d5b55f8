import type { Transport } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { Cancel, Clock } from '../../clock.ts'
import { watchResources } from '../resources/watch.ts'
import { cancelledIdOf, type RequestId, type RpcMessage, requestIdOf } from './json-rpc.ts'
import type { McpServer } from './server.ts'
import { createServer2026, type Server2026Options } from './server-2026.ts'
import { listEvents, readerOf, watchedUris } from './subscriptions.ts'

/** The server of a stdio client of revision 2026-07-28. */
export function createStdioServer2026(options: Server2026Options, clock: Clock): McpServer {
  const server = createServer2026(options)
  const watches = new Watches((uri) =>
    watchResources({
      uris: [uri],
      read: readerOf(options, null),
      changed: () => void server.sendResourceUpdated({ uri }).catch(() => {}),
      clock,
    }),
  )
  let handle: ReturnType<typeof serveStdio> | undefined
  return {
    async connect(transport) {
      const wire: Transport = {
        start: async () => {},
        send: (message) => transport.send(message as never),
        close: async () => {},
      }
      transport.onmessage = (message) => {
        watches.follow(message as RpcMessage)
        wire.onmessage?.(message as never)
      }
      handle = serveStdio(() => server, { transport: wire, legacy: 'reject' })
    },
    async close() {
      watches.end()
      await handle?.close()
    },
  }
}

/** One watch for each resource that any subscription names. */
class Watches {
  readonly #start: (uri: string) => Cancel
  readonly #uris = new Map<RequestId, string[]>()
  readonly #running = new Map<string, Cancel>()

  constructor(start: (uri: string) => Cancel) {
    this.#start = start
  }

  follow(message: RpcMessage): void {
    const id = requestIdOf(message)
    // Lists of a process stay the same.
    const uris = (watchedUris(message) ?? []).filter((uri) => !(uri in listEvents))
    const canceledId = cancelledIdOf(message)
    if (canceledId !== undefined) this.#uris.delete(canceledId)
    else if (id !== undefined && uris.length > 0) this.#uris.set(id, uris)
    else return
    const wanted = new Set([...this.#uris.values()].flat())
    for (const [uri, stop] of this.#running) {
      if (wanted.has(uri)) continue
      stop()
      this.#running.delete(uri)
    }
    for (const uri of wanted) if (!this.#running.has(uri)) this.#running.set(uri, this.#start(uri))
  }

  end(): void {
    for (const stop of this.#running.values()) stop()
    this.#running.clear()
    this.#uris.clear()
  }
}
