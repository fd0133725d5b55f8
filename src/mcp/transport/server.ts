/**
 * The adapter to the MCP library, and the only file that imports it. Other files use `Tool`, `ToolResult` and the types
 * exported here.
 */
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ElicitResultSchema,
  ErrorCode,
  GetPromptRequestSchema,
  type JSONRPCMessage,
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
import { AppError } from '../../errors.ts'
import { sanitizeInline } from '../policy/untrusted-text.ts'
import { getPrompt, listedPrompts } from '../resources/prompts.ts'
import { type CallTool, listedResources, listedTemplates, readResource } from '../resources/resources.ts'
import type { ListedTool } from '../tools/published-tool.ts'
import type { ToolResult } from '../tools/result.ts'
import { instructions, serverName, serverVersion } from './server-info.ts'

export type { JSONRPCMessage, Transport }
export const protocolVersions: readonly string[] = SUPPORTED_PROTOCOL_VERSIONS

/** How long a person has to answer a question. */
const answerTimeoutMs = 5 * 60_000

/** One `tools/call`, passed on by the adapter. */
export interface IncomingCall {
  name: string
  args: Record<string, unknown>
  signal: AbortSignal
  /** The `Authorization` value of the request that carried the call; null on stdio. */
  token: string | null
  progress: ((message: string, done: number, total: number | undefined) => void) | null
  askPerson: ((question: string, yes: string) => Promise<boolean>) | null
}

export interface McpServerOptions {
  tools(): ListedTool[] | Promise<ListedTool[]>
  callTool(call: IncomingCall): Promise<ToolResult>
  onInitialized?: () => void
  onClose?: () => void
}

export interface McpServer {
  connect(transport: Transport): Promise<void>
  close(): Promise<void>
}

/** A cheap server object: lists and schemas are shared, so each request can have its own. */
export function createMcpServer(options: McpServerOptions): McpServer {
  const server = new Server(
    { name: serverName, title: 'Longshore', version: serverVersion },
    {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions,
      jsonSchemaValidator: noValidator,
    },
  )
  server.setRequestHandler(ListToolsRequestSchema, async () => ({
    tools: (await options.tools()) as never,
  }))
  server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
    const { name, arguments: args = {} } = request.params
    const result = await options.callTool({
      name,
      args,
      signal: extra.signal,
      token: extra.authInfo?.token ?? null,
      progress: progressOf(extra),
      askPerson: server.getClientCapabilities()?.elicitation?.form === undefined ? null : askPersonOf(extra),
    })
    return asCallToolResult(result)
  })
  addResources(server, options)
  addPrompts(server, options)
  server.oninitialized = () => options.onInitialized?.()
  server.onclose = () => options.onClose?.()
  return server
}

/** Resources are listed according to the caller's tools, and read by calling these. */
function addResources(server: Server, options: McpServerOptions): void {
  server.setRequestHandler(ListResourcesRequestSchema, async () => ({
    resources: listedResources(await toolNamesOf(options)),
  }))
  server.setRequestHandler(ListResourceTemplatesRequestSchema, async () => ({
    resourceTemplates: listedTemplates(await toolNamesOf(options)),
  }))
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params }, extra) => {
    const names = await toolNamesOf(options)
    const content = await asProtocolError(() => readResource(params.uri, names, callToolOf(options, extra)))
    return { contents: [content] }
  })
}

function addPrompts(server: Server, options: McpServerOptions): void {
  server.setRequestHandler(ListPromptsRequestSchema, async () => ({
    prompts: listedPrompts(await toolNamesOf(options)),
  }))
  server.setRequestHandler(GetPromptRequestSchema, async ({ params }, extra) => {
    const names = await toolNamesOf(options)
    const { name, arguments: args = {} } = params
    const prompt = await asProtocolError(() => getPrompt(name, args, names, callToolOf(options, extra)))
    const instructions = { role: 'user' as const, content: { type: 'text' as const, text: prompt.text } }
    const known = prompt.resources.map((resource) => ({
      role: 'user' as const,
      content: { type: 'resource' as const, resource },
    }))
    return { description: prompt.description, messages: [instructions, ...known] }
  })
}

async function toolNamesOf(options: McpServerOptions): Promise<Set<string>> {
  return new Set((await options.tools()).map(({ name }) => name))
}

function callToolOf(options: McpServerOptions, extra: Extra): CallTool {
  const { signal, authInfo } = extra
  const token = authInfo?.token ?? null
  return (name, args) => options.callTool({ name, args, signal, token, progress: null, askPerson: null })
}

/** The protocol has a code of its own for a missing resource. */
const codes: Partial<Record<AppError['kind'], number>> = {
  'not-found': -32002,
  invalid: ErrorCode.InvalidParams,
}

/** Unlike tools, resources and prompts have no error results, so errors become protocol errors. */
async function asProtocolError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { kind, message, details } = error
    const text = details === undefined ? message : `${message}. ${details}`
    throw new McpError(codes[kind] ?? ErrorCode.InternalError, sanitizeInline(text, 4_000))
  }
}

function asCallToolResult(result: ToolResult): CallToolResult {
  return {
    content: [{ type: 'text', text: result.text }],
    structuredContent: result.structured,
    ...(result.isError ? { isError: true } : {}),
  }
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>

function progressOf(extra: Extra): IncomingCall['progress'] {
  const progressToken = extra._meta?.progressToken
  if (progressToken === undefined) return null
  let last = -1
  return (message, done, total) => {
    // Progress must increase with every notification, even if the clock did not.
    last = Math.max(last + 0.001, done)
    extra
      .sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress: last, ...(total === undefined ? {} : { total }), message },
      })
      // The caller disconnected; the signal aborts the call.
      .catch(() => {})
  }
}

function askPersonOf(extra: Extra): NonNullable<IncomingCall['askPerson']> {
  return async (question, yes) => {
    try {
      const answer = await extra.sendRequest(
        {
          method: 'elicitation/create',
          params: {
            mode: 'form',
            message: question,
            requestedSchema: {
              type: 'object',
              properties: { agree: { type: 'boolean', title: yes, default: false } },
              required: ['agree'],
            },
          },
        },
        ElicitResultSchema,
        { timeout: answerTimeoutMs, signal: extra.signal },
      )
      return answer.action === 'accept' && answer.content?.agree === true
    } catch {
      // No answer in time, or the client could not ask: treat it as a no.
      return false
    }
  }
}

/** Answers to questions are checked where they are used; the library's validator would add 10 ms to every start. */
const noValidator = {
  getValidator: () => (input: unknown) => ({
    valid: true as const,
    data: input as never,
    errorMessage: undefined,
  }),
}
