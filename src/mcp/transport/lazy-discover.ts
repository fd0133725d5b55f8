import { takesApps } from '../apps/apps.ts'
import { DeferredServer } from './deferred-server.ts'
import { capabilitiesOf, isRequestOf2026 } from './era.ts'
import { type RpcMessage, requestIdOf } from './json-rpc.ts'
import { type LazyOptions, listOf } from './lazy-initialize.ts'

/**
 * Answers `server/discover` and the lists of revision 2026-07-28 from the prebuilt file, without loading the library; any
 * other message loads the full server.
 */
export class LazyDiscover {
  readonly server: DeferredServer
  readonly #options: LazyOptions

  constructor(options: LazyOptions) {
    this.#options = options
    this.server = new DeferredServer(options)
  }

  accept(message: RpcMessage): void {
    const id = requestIdOf(message)
    const answer = id === undefined || this.server.isLoaded ? undefined : this.#answerOf(message)
    if (answer === undefined) this.server.accept(message)
    else this.#options.write({ jsonrpc: '2.0', id, result: answer })
  }

  #answerOf(message: RpcMessage): unknown {
    const { prebuilt, tools } = this.#options
    // The library rejects malformed requests.
    if (!isRequestOf2026(message)) return undefined
    if (message.method === 'server/discover') return prebuilt.discover
    const list = listOf(message.method ?? '', tools, takesApps(capabilitiesOf(message)))
    return list && { ...prebuilt.listEnvelope, ...list }
  }
}
