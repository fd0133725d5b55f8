import { takesApps } from '../apps/apps.ts'
import type { RpcMessage } from './json-rpc.ts'
import { type LazyAnswer, LazyServer } from './lazy-server.ts'

/**
 * Answers `initialize` and the lists of the revisions that begin with it. The full server also gets the `initialize`, so
 * that it knows the client; its response to that is dropped.
 */
export class LazyInitialize extends LazyServer {
  #isGreeted = false
  #takesApps = false

  protected answerOf(message: RpcMessage): LazyAnswer | undefined {
    const { method = '' } = message
    if (method === 'ping') return { result: {} }
    if (method === 'server/discover') return { error: unknownMethod }
    if (method === 'initialize') return this.#isGreeted ? undefined : this.#greet(message)
    const list = this.#isGreeted ? this.listOf(method, this.#takesApps) : undefined
    return list && { result: list }
  }

  #greet(message: RpcMessage): LazyAnswer | undefined {
    const { hello, versions } = this.options.prebuilt
    const { protocolVersion, capabilities, clientInfo } = message.params ?? {}
    // The library rejects malformed requests.
    if (typeof protocolVersion !== 'string' || !isObject(capabilities) || !isObject(clientInfo))
      return undefined
    this.#isGreeted = true
    this.#takesApps = takesApps(capabilities)
    this.server.inform(message)
    return { result: versions.includes(protocolVersion) ? { ...hello, protocolVersion } : hello }
  }
}

/** A probe that names no revision; this response makes its client fall back to `initialize`. */
const unknownMethod = { code: -32601, message: 'Method not found' }

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
