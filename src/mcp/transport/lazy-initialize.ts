import { takesApps, withApp } from '../apps/apps.ts'
import { listedPrompts } from '../resources/prompts.ts'
import { listedResources, listedTemplates } from '../resources/resources.ts'
import type { Prebuilt } from '../tools/prebuilt.ts'
import type { ListedTool } from '../tools/published-tool.ts'
import { DeferredServer, type DeferredServerOptions } from './deferred-server.ts'
import { type RpcMessage, requestIdOf } from './json-rpc.ts'

export interface LazyOptions extends DeferredServerOptions {
  prebuilt: Prebuilt
  tools: ListedTool[]
}

/**
 * Answers the first requests of a host, `initialize` and the lists, from the prebuilt file, without loading the library
 * (50 ms). Any other message loads the full server and goes to it, in order. That server also gets the `initialize`, so
 * that it knows the client; its response to that is dropped.
 */
export class LazyInitialize {
  readonly server: DeferredServer
  readonly #options: LazyOptions
  #isGreeted = false
  #takesApps = false

  constructor(options: LazyOptions) {
    this.#options = options
    this.server = new DeferredServer(options)
  }

  accept(message: RpcMessage): void {
    const id = requestIdOf(message)
    const answer = id === undefined || this.server.isLoaded ? undefined : this.#answerOf(message)
    if (answer === undefined) {
      this.server.accept(message)
      return
    }
    if (answer === unknownMethod) {
      this.#options.write({ jsonrpc: '2.0', id, error: unknownMethod })
      return
    }
    this.#options.write({ jsonrpc: '2.0', id, result: answer })
    if (message.method !== 'initialize') return
    this.#isGreeted = true
    this.#takesApps = takesApps(message.params?.capabilities)
    this.server.inform(message)
  }

  #answerOf({ method, params = {} }: RpcMessage): unknown {
    const { hello, versions } = this.#options.prebuilt
    if (method === 'ping') return {}
    if (method === 'server/discover') return unknownMethod
    if (method?.endsWith('/list'))
      return this.#isGreeted ? listOf(method, this.#options.tools, this.#takesApps) : undefined
    if (method !== 'initialize' || this.#isGreeted) return undefined
    const { protocolVersion, capabilities, clientInfo } = params
    // The library rejects malformed requests.
    if (typeof protocolVersion !== 'string' || !isObject(capabilities) || !isObject(clientInfo))
      return undefined
    return versions.includes(protocolVersion) ? { ...hello, protocolVersion } : hello
  }
}

/** A probe that names no revision; this response makes its client fall back to `initialize`. */
const unknownMethod = { code: -32601, message: 'Method not found' }

/** Result of a list method; undefined for any other method. */
export function listOf(
  method: string,
  tools: readonly ListedTool[],
  hasApps: boolean,
): Record<string, unknown> | undefined {
  if (method === 'tools/list') return { tools: hasApps ? withApp(tools) : tools }
  const names = new Set(tools.map(({ name }) => name))
  if (method === 'prompts/list') return { prompts: listedPrompts(names) }
  if (method === 'resources/list') return { resources: listedResources(names, hasApps) }
  return method === 'resources/templates/list' ? { resourceTemplates: listedTemplates(names) } : undefined
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
