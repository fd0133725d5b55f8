import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  CompleteRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  type ServerNotification,
  type ServerRequest,
  SetLevelRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type { McpServerOptions } from '../../../src/mcp/transport/responses.ts'
import { createMcpServer, type McpServer } from '../../../src/mcp/transport/server.ts'
import {
  embedded,
  fixedPrompts,
  fixedResource,
  fixedResources,
  fixedTemplates,
  image,
  listedFixedPrompts,
  schema2020,
  text,
  wav,
} from './fixture-content.ts'

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>
type Handler = (request: unknown, extra: Extra) => Promise<Record<string, unknown>>

/** A server as the product makes it, and on it the parts of the protocol that only the suite asks for. */
export function createFixtureServer(options: McpServerOptions): McpServer {
  const made = createMcpServer(options)
  const server = made as McpServer & Server
  server.registerCapabilities({ logging: {}, completions: {}, resources: { subscribe: true } })
  addTools(server)
  addResources(server)
  addPrompts(server)
  server.setRequestHandler(SetLevelRequestSchema, () => ({}))
  server.setRequestHandler(CompleteRequestSchema, () => ({ completion: { values: [], total: 0 } }))
  return made
}

/** The product's handler for a method; the library has no public way to get it. */
function oursFor(server: Server, method: string): Handler {
  const handlers = (server as unknown as { _requestHandlers: Map<string, Handler> })._requestHandlers
  return handlers.get(method)!
}

function addTools(server: Server): void {
  const listed = oursFor(server, 'tools/list')
  const called = oursFor(server, 'tools/call')
  server.setRequestHandler(ListToolsRequestSchema, async (request, extra) => {
    const { tools } = (await listed(request, extra)) as { tools: never[] }
    const more = Object.keys(richTools).map((name) => ({
      name,
      description: `Does what the conformance suite expects of ${name}.`,
      inputSchema: name === 'json_schema_2020_12_tool' ? schema2020 : { type: 'object' as const },
    }))
    return { tools: [...tools, ...more] }
  })
  server.setRequestHandler(CallToolRequestSchema, async (request, extra) => {
    const rich = richTools[request.params.name]
    if (rich === undefined) return (await called(request, extra)) as CallToolResult
    return { content: await rich(extra, request.params.arguments ?? {}) }
  })
}

type Content = CallToolResult['content']
type RichTool = (extra: Extra, args: Record<string, unknown>) => Content | Promise<Content>

/** Tools whose answers or questions the product does not use. */
const richTools: Record<string, RichTool> = {
  test_image_content: () => [image],
  test_audio_content: () => [{ type: 'audio', data: wav, mimeType: 'audio/wav' }],
  test_embedded_resource: () => [embedded('test://embedded-resource')],
  test_multiple_content_types: () => [text('Several'), image, embedded('test://mixed')],
  json_schema_2020_12_tool: () => [text('Done')],
  async test_tool_with_logging(extra) {
    for (const data of ['Started', 'Working', 'Completed']) {
      await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } })
    }
    return [text('Logged')]
  },
  async test_reconnection(extra) {
    extra.closeSSEStream?.()
    await new Promise((resolve) => setTimeout(resolve, 100))
    return [text('The client came back for this')]
  },
  async test_sampling(extra, { prompt }) {
    const messages = [{ role: 'user' as const, content: text(String(prompt)) }]
    const { content } = await extra.sendRequest(
      { method: 'sampling/createMessage', params: { messages, maxTokens: 100 } },
      CreateMessageResultSchema,
    )
    return [text(`The model answered ${JSON.stringify(content)}`)]
  },
  test_elicitation_sep1034_defaults: (extra) => ask(extra, formWithDefaults),
  test_elicitation_sep1330_enums: (extra) => ask(extra, formWithChoices),
}

async function ask(extra: Extra, properties: Record<string, unknown>): Promise<Content> {
  const requestedSchema = { type: 'object' as const, properties: properties as never, required: [] }
  const answer = await extra.sendRequest(
    { method: 'elicitation/create', params: { message: 'Please look at the form', requestedSchema } },
    ElicitResultSchema,
  )
  return [text(`action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`)]
}

const formWithDefaults = {
  name: { type: 'string', description: 'User name', default: 'John Doe' },
  age: { type: 'integer', description: 'User age', default: 30 },
  score: { type: 'number', description: 'User score', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', description: 'Verification status', default: true },
}

const titled = (prefix: string) =>
  ['First', 'Second', 'Third'].map((word, index) => ({
    const: `value${index + 1}`,
    title: `${word} ${prefix}`,
  }))

const formWithChoices = {
  untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  titledSingle: { type: 'string', oneOf: titled('Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: {
    type: 'array',
    minItems: 1,
    maxItems: 3,
    items: { type: 'string', enum: ['option1', 'option2', 'option3'] },
  },
  titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: titled('Choice') } },
}

function addResources(server: Server): void {
  const listed = oursFor(server, 'resources/list')
  const read = oursFor(server, 'resources/read')
  server.setRequestHandler(ListResourcesRequestSchema, async (request, extra) => {
    const { resources } = (await listed(request, extra)) as { resources: never[] }
    return { resources: [...resources, ...Object.keys(fixedResources).map((uri) => ({ uri, name: uri }))] }
  })
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: fixedTemplates,
  }))
  server.setRequestHandler(ReadResourceRequestSchema, async (request, extra) => {
    const { uri } = request.params
    const known = fixedResource(uri)
    if (known === undefined) return (await read(request, extra)) as never
    return { contents: [{ uri, ...known }] }
  })
  server.setRequestHandler(SubscribeRequestSchema, () => ({}))
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}))
}

function addPrompts(server: Server): void {
  const listed = oursFor(server, 'prompts/list')
  const got = oursFor(server, 'prompts/get')
  server.setRequestHandler(ListPromptsRequestSchema, async (request, extra) => {
    const { prompts } = (await listed(request, extra)) as { prompts: never[] }
    return { prompts: [...prompts, ...listedFixedPrompts] }
  })
  server.setRequestHandler(GetPromptRequestSchema, async (request, extra) => {
    const { name, arguments: args = {} } = request.params
    const contents = fixedPrompts[name]?.say(args)
    if (contents === undefined) return (await got(request, extra)) as never
    return { messages: contents.map((content) => ({ role: 'user' as const, content: content as never })) }
  })
}
