import type { IncomingMessage } from 'node:http'
import { type Client, createClient } from '../../../client/client.ts'
import { clientAddressOf } from '../../../client-address.ts'
import { isRead } from '../../../contract/operation.ts'
import type { Scope } from '../../../contract/scopes.ts'
import { AppError } from '../../../errors.ts'
import { yieldAlone } from '../../../pacer.ts'
import { spanIds, spanIn } from '../../../trace.ts'
import { toolPolicyOfRequest } from '../../policy/http-policy.ts'
import { defaultToolPolicy, narrowed, type ToolPolicy } from '../../policy/tool-policy.ts'
import type { Tool } from '../../tools/define-tool.ts'
import { publishTools } from '../../tools/publish.ts'
import { type ListedTool, listedTools, type PublishedTool, shownTools } from '../../tools/published-tool.ts'
import { createReadCache } from '../../tools/read-cache.ts'
import type { ToolResult } from '../../tools/result.ts'
import { RetriedCalls } from '../../tools/retried-calls.ts'
import { runTool } from '../../tools/run-tool.ts'
import { platformInput } from '../../tools/schema.ts'
import { agentNameOf, type IncomingCall, type McpServerOptions } from '../responses.ts'
import type { Refusal } from './guards.ts'
import { scopeRefusal, unauthenticatedBy } from './oauth.ts'
import type { McpHttpOptions } from './options.ts'
import { tooMany } from './refusals.ts'

/** The caller of a request, its tools, and its address of this server. */
export interface HttpCaller {
  token: string
  /** Null while the store is unavailable. */
  principal: string | null
  toolPolicy: ToolPolicy
  /** Scopes that the person left out at the sign-in of the agent. */
  declined?: readonly Scope[] | undefined
  host: string | undefined
  /** The address of the client. */
  address?: string | undefined
  /** Name of the session in the audit log; stateless requests have none. */
  agentSession?: string | undefined
}

/** The tools that callers over HTTP may list and call, the same in both eras of the protocol. */
export class HttpTools {
  readonly #options: McpHttpOptions
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #toolPolicy: ToolPolicy
  readonly #retries: RetriedCalls
  #published: PublishedTool[] | undefined

  constructor(options: McpHttpOptions) {
    this.#options = options
    this.#tools = new Map(options.registry.map((tool) => [tool.name, tool]))
    this.#retries = new RetriedCalls(options.clock)
    this.#toolPolicy = { ...defaultToolPolicy, ...options.toolPolicy }
  }

  /** The policy of a request: the server's own, narrowed by the agent's grant, its address and its headers. */
  toolPolicyOf(req: IncomingMessage, limits: Partial<ToolPolicy>): ToolPolicy | Refusal {
    try {
      const allowed = narrowed(this.#toolPolicy, { ...defaultToolPolicy, allowSecrets: true, ...limits })
      return toolPolicyOfRequest(req, allowed, [...this.#tools.keys()])
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { status: 400, error: error.message, details: error.details ?? '' }
    }
  }

  /** Whose token it is; null while the store is unavailable. */
  async principalOf(token: string, req: IncomingMessage): Promise<string | Refusal | null> {
    const { authenticate, oauth } = this.#options
    try {
      return authenticate ? await authenticate(token, clientAddressOf(req)) : token
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (error.kind === 'unauthenticated') return unauthenticatedBy(oauth, req)
      if (error.kind === 'rate-limited') return tooMany(error)
      // The store is unavailable; the call itself reports that in a result.
      return null
    }
  }

  /** The 403 for a body with calls beyond the scopes of the agent; null if there is none. */
  async scopeRefusalOf(req: IncomingMessage, body: unknown, caller: HttpCaller): Promise<Refusal | null> {
    const { token, toolPolicy, declined = [] } = caller
    const { oauth } = this.#options
    const { scopes } = toolPolicy
    if (oauth === undefined || scopes === null) return null
    const { allowSecrets } = this.#toolPolicy
    const agent = { scopes, declined, toolPolicy, tools: this.#tools, allowSecrets }
    const refused = scopeRefusal(oauth, req, body, agent)
    if (refused === null) return null
    const { operation } = refused.tool
    // The API refuses it for the same reason, and records the attempt.
    if (!isRead(operation)) {
      const options = { declined: true }
      await this.#clientOf(caller)
        .call(operation, platformInput(refused.tool, refused.args), options)
        .catch(() => {})
    }
    if (refused.wanted !== null) await oauth.needsMore(token, refused.wanted)
    return refused.refusal
  }

  serverOptions(caller: HttpCaller): McpServerOptions {
    const { token, toolPolicy } = caller
    return {
      tools: async () => shownTools(await this.#list(token, toolPolicy), toolPolicy),
      callable: async () => new Set((await this.#list(token, toolPolicy)).map(({ name }) => name)),
      callTool: (call) => this.#callTool(call, { ...caller, token: call.token ?? token }),
    }
  }

  async #list(token: string, toolPolicy: ToolPolicy): Promise<ListedTool[]> {
    this.#published ??= publishTools(this.#options.registry)
    const permissions = (await this.#options.permissions?.(token)) ?? null
    // 100 kB for each of many clients whose permissions arrive at once, so each list is made and sent in its own turn.
    await yieldAlone()
    return listedTools(this.#published, toolPolicy, permissions)
  }

  #clientOf({ token, host, address, agentSession }: HttpCaller): Client {
    const { apiUrl, send } = this.#options
    const fetchImpl = send && { fetchImpl: send }
    return createClient({
      url: apiUrl(),
      token,
      surface: 'mcp',
      agentSession,
      forwardedHost: host,
      forwardedFor: address,
      ...fetchImpl,
    })
  }

  async #callTool(call: IncomingCall, caller: HttpCaller): Promise<ToolResult> {
    const { toolPolicy } = caller
    const { clock, log } = this.#options
    const client = this.#clientOf(caller)
    const traceparent = spanIn(call.traceparent)
    const startMs = clock.wallMs()
    const result = await runTool(
      {
        tools: this.#tools,
        toolPolicy,
        client,
        reads: createReadCache(client, clock),
        retries: this.#retries,
        caller: caller.token,
        clock,
        signal: call.signal,
        traceparent,
        agent: agentNameOf(call.clientInfo),
        progress: call.progress,
        askPerson: call.askPerson,
        takesTasks: call.takesTasks,
        task: call.task,
        onFault: (error, requestId, tool) => log.error({ err: error, requestId, tool }, 'tool call failed'),
      },
      call.name,
      call.args,
    )
    this.#options.spans?.add({
      ...spanIds(traceparent, call.traceparent),
      name: `tools/call ${call.name.slice(0, 64)}`,
      kind: 'server',
      startMs,
      endMs: clock.wallMs(),
      failed: result.isError,
      attributes: { 'mcp.method.name': 'tools/call', 'gen_ai.tool.name': call.name.slice(0, 64) },
    })
    return result
  }
}
