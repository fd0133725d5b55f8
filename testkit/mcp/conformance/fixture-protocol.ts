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

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>
type Handler = (request: unknown, extra: Extra) => Promise<Record<string, unknown>>

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='
const text = (value: string) => ({ type: 'text' as const, text: value })
const image = { type: 'image' as const, data: png, mimeType: 'image/png' }
const embedded = (uri: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType: 'text/plain', text: 'Embedded for the suite.' },
})

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

/** What the product answers a method with; the library has no public way to ask. */
function oursFor(server: Server, method: string): Handler {
  const handlers = (server as unknown as { _requestHandlers: Map<string, Handler> })._requestHandlers
  return handlers.get(method)!
}

const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object' as const,
  $defs: {
    address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } } },
  },
  properties: { name: { type: 'string' }, address: { $ref: '#/$defs/address' } },
  additionalProperties: false,
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

/** Tools whose answers or questions the product has no use for. */
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
  const fixed: Record<string, { mimeType: string; text: string } | { mimeType: string; blob: string }> = {
    'test://static-text': { mimeType: 'text/plain', text: 'The static text.' },
    'test://static-binary': { mimeType: 'image/png', blob: png },
    'test://watched-resource': { mimeType: 'text/plain', text: 'The watched text.' },
  }
  server.setRequestHandler(ListResourcesRequestSchema, async (request, extra) => {
    const { resources } = (await listed(request, extra)) as { resources: never[] }
    return { resources: [...resources, ...Object.keys(fixed).map((uri) => ({ uri, name: uri }))] }
  })
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({
    resourceTemplates: [{ uriTemplate: 'test://template/{id}/data', name: 'template' }],
  }))
  server.setRequestHandler(ReadResourceRequestSchema, async (request, extra) => {
    const { uri } = request.params
    const id = uri.match(/^test:\/\/template\/([^/]+)\/data$/)?.[1]
    const known =
      id === undefined ? fixed[uri] : { mimeType: 'application/json', text: JSON.stringify({ id }) }
    if (known === undefined) return (await read(request, extra)) as never
    return { contents: [{ uri, ...known }] }
  })
  server.setRequestHandler(SubscribeRequestSchema, () => ({}))
  server.setRequestHandler(UnsubscribeRequestSchema, () => ({}))
}

function addPrompts(server: Server): void {
  const listed = oursFor(server, 'prompts/list')
  const got = oursFor(server, 'prompts/get')
  const needs = (...names: string[]) => names.map((name) => ({ name, required: true }))
  const fixed: Record<string, { arguments?: unknown[]; say(args: Record<string, string>): unknown[] }> = {
    test_simple_prompt: { say: () => [text('A simple prompt.')] },
    test_prompt_with_arguments: {
      arguments: needs('arg1', 'arg2'),
      say: ({ arg1, arg2 }) => [text(`arg1=${arg1}, arg2=${arg2}`)],
    },
    test_prompt_with_embedded_resource: {
      arguments: needs('resourceUri'),
      say: ({ resourceUri }) => [embedded(resourceUri!), text('Look at the resource.')],
    },
    test_prompt_with_image: { say: () => [image, text('Look at the image.')] },
  }
  server.setRequestHandler(ListPromptsRequestSchema, async (request, extra) => {
    const { prompts } = (await listed(request, extra)) as { prompts: never[] }
    const more = Object.entries(fixed).map(([name, prompt]) => ({
      name,
      description: `For the suite: ${name}`,
      arguments: prompt.arguments as never,
    }))
    return { prompts: [...prompts, ...more] }
  })
  server.setRequestHandler(GetPromptRequestSchema, async (request, extra) => {
    const { name, arguments: args = {} } = request.params
    const contents = fixed[name]?.say(args)
    if (contents === undefined) return (await got(request, extra)) as never
    return { messages: contents.map((content) => ({ role: 'user' as const, content: content as never })) }
  })
}
