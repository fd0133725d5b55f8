/**
 * The adapter to the MCP library of the revisions that begin with `initialize`, and the only file that imports it; requests
 * of revision 2026-07-28 have theirs in server-2026.ts. Other files use `Tool`, `ToolResult` and the types exported here.
 */
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CallToolRequestSchema,
  CompleteRequestSchema,
  ElicitResultSchema,
  ErrorCode,
  GetPromptRequestSchema,
  type JSONRPCMessage,
  LATEST_PROTOCOL_VERSION,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type ServerNotification,
  type ServerRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/sdk/types.js'
import type { AppError } from '../../errors.ts'
import { takesApps } from '../apps/apps.ts'
import {
  type IncomingCall,
  increasingProgress,
  isYes,
  type McpServerOptions,
  noValidator,
  protocolErrorText,
  questionForm,
  respond,
  respondersOf,
  toolResponse,
} from './responses.ts'
import { instructions, serverInfo } from './server-info.ts'

export type { JSONRPCMessage, Transport }
export const protocolVersions: readonly string[] = SUPPORTED_PROTOCOL_VERSIONS
export const versionHeader = 'mcp-protocol-version'

/** Revisions are dates, so their order is that of their texts. */
const firstWithLinks = '2025-06-18'

/** How long a person has to answer a question. */
const answerTimeoutMs = 5 * 60_000

export interface McpServer {
  /** The revision that it agreed on with its client; undefined before that, and for stateless requests. */
  readonly revision?: string | undefined
  connect(transport: Transport): Promise<void>
  close(): Promise<void>
}

const schemas = {
  'tools/list': ListToolsRequestSchema,
  'resources/list': ListResourcesRequestSchema,
  'resources/templates/list': ListResourceTemplatesRequestSchema,
  'resources/read': ReadResourceRequestSchema,
  'completion/complete': CompleteRequestSchema,
  'prompts/list': ListPromptsRequestSchema,
  'prompts/get': GetPromptRequestSchema,
}

/** A cheap server object: lists and schemas are shared, so each request can have its own. */
export function createMcpServer(options: McpServerOptions): McpServer {
  const server = new NegotiatingServer(serverInfo, {
    capabilities: { tools: {}, resources: {}, prompts: {}, completions: {} },
    instructions,
    jsonSchemaValidator: noValidator,
  })
  const responders = respondersOf(options)
  for (const [method, schema] of Object.entries(schemas)) {
    server.setRequestHandler(schema, ({ params = {} }, extra) => {
      const { signal, authInfo } = extra
      const caller = { signal, token: authInfo?.token ?? null, progress: null, askPerson: null }
      return respond(
        () =>
          responders[method]!(params, {
            callTool: (name, args) => options.callTool({ name, args, ...caller }),
            takesApps: takesApps(server.getClientCapabilities()),
          }),
        toMcpError,
      )
    })
  }
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const { name, arguments: args = {} } = params
    const result = await options.callTool({
      name,
      args,
      signal: extra.signal,
      token: extra.authInfo?.token ?? null,
      traceparent: extra._meta?.traceparent,
      clientInfo: server.getClientVersion(),
      progress: progressOf(extra),
      askPerson: server.getClientCapabilities()?.elicitation?.form === undefined ? null : askPersonOf(extra),
    })
    const named = server.revision ?? extra.requestInfo?.headers[versionHeader]
    return toolResponse(result, named !== undefined && String(named) >= firstWithLinks)
  })
  return server
}

/** Has the revision that it agreed on with its client. */
class NegotiatingServer extends Server {
  /** Undefined for a stateless request, which comes without `initialize`. */
  revision: string | undefined

  override async connect(transport: Transport): Promise<void> {
    // The library passes each message to this handler first.
    transport.onmessage = (message) => {
      if (!('method' in message)) return
      // A request to run the call as a task: without that capability the call is made as usual, where the library fails.
      if (message.method === 'tools/call' && message.params) delete message.params.task
      if (message.method !== 'initialize') return
      const requested = message.params?.protocolVersion
      this.revision = protocolVersions.find((known) => known === requested) ?? LATEST_PROTOCOL_VERSION
    }
    await super.connect(transport)
  }
}

/** These revisions have a code of their own for a missing resource. */
const codes: Partial<Record<AppError['kind'], number>> = {
  'not-found': -32002,
  invalid: ErrorCode.InvalidParams,
}

function toMcpError(error: AppError): McpError {
  return new McpError(codes[error.kind] ?? ErrorCode.InternalError, protocolErrorText(error))
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>

function progressOf(extra: Extra): IncomingCall['progress'] {
  const progressToken = extra._meta?.progressToken
  if (progressToken === undefined) return null
  return increasingProgress(progressToken, (notification) => extra.sendNotification(notification as never))
}

function askPersonOf(extra: Extra): NonNullable<IncomingCall['askPerson']> {
  return async (question, yes) => {
    try {
      const params = { mode: 'form' as const, ...questionForm(question, yes) }
      const options = { timeout: answerTimeoutMs, signal: extra.signal }
      return isYes(
        await extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema, options),
      )
    } catch {
      // No answer in time, or the client could not ask: treat it as a no.
      return false
    }
  }
}
