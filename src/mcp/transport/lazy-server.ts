import { withApp } from '../apps/apps.ts'
import { listedPrompts } from '../resources/prompts.ts'
import { listedResources, listedTemplates } from '../resources/resources.ts'
import type { Prebuilt } from '../tools/prebuilt.ts'
import type { ListedTool } from '../tools/published-tool.ts'
import { DeferredServer, type DeferredServerOptions } from './deferred-server.ts'
import { type RpcMessage, requestIdOf } from './json-rpc.ts'

interface LazyOptions extends DeferredServerOptions {
  prebuilt: Prebuilt
  tools: ListedTool[]
}

export type LazyAnswer = { result: unknown } | { error: { code: number; message: string } }

/**
 * Answers the first requests of a host from the prebuilt file, without loading the library (50 ms). Any other message
 * loads the full server and goes to it, in order.
 */
export abstract class LazyServer {
  readonly server: DeferredServer
  protected readonly options: LazyOptions

  constructor(options: LazyOptions) {
    this.options = options
    this.server = new DeferredServer(options)
  }

  accept(message: RpcMessage): void {
    const id = requestIdOf(message)
    const answer = id === undefined || this.server.isLoaded ? undefined : this.answerOf(message)
    if (answer === undefined) this.server.accept(message)
    else this.options.write({ jsonrpc: '2.0', id, ...answer })
  }

  /** Undefined: the full server answers. */
  protected abstract answerOf(message: RpcMessage): LazyAnswer | undefined

  /** Result of a list method; undefined for any other method. */
  protected listOf(method: string, hasApps: boolean): Record<string, unknown> | undefined {
    const { tools } = this.options
    if (method === 'tools/list') return { tools: hasApps ? withApp(tools) : tools }
    const names = new Set(tools.map(({ name }) => name))
    if (method === 'prompts/list') return { prompts: listedPrompts(names) }
    if (method === 'resources/list') return { resources: listedResources(names, hasApps) }
    return method === 'resources/templates/list' ? { resourceTemplates: listedTemplates(names) } : undefined
  }
}
