import {
  acceptedContent,
  createRequestStateCodec,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { createServer2026, type Server2026Options } from '../../../src/mcp/transport/server-2026.ts'
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

type Result = Record<string, unknown>
type Handler = (request: unknown, ctx: ServerContext) => Promise<Result>

/** A server of 2026-07-28 as the product makes it, and on it the parts of the protocol that only the suite needs. */
export function createFixtureServer2026(options: Server2026Options): Server {
  const server = createServer2026(options)
  server.registerCapabilities({ completions: {}, logging: {} })
  server.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0 } }))
  extend(server, 'tools/list', ({ tools, ...rest }) => ({
    ...rest,
    tools: [...(tools as []), ...listedTools()],
  }))
  extend(server, 'resources/list', ({ resources, ...rest }) => {
    const more = Object.keys(fixedResources).map((uri) => ({ uri, name: uri }))
    return { ...rest, resources: [...(resources as []), ...more] }
  })
  extend(server, 'resources/templates/list', (answer) => ({ ...answer, resourceTemplates: fixedTemplates }))
  extend(server, 'prompts/list', ({ prompts, ...rest }) => {
    const more = [
      ...listedFixedPrompts,
      { name: askingPrompt, description: `For the suite: ${askingPrompt}` },
    ]
    return { ...rest, prompts: [...(prompts as []), ...more] }
  })
  insteadOf(server, 'tools/call', ({ name }, ctx) => richTools[String(name)]?.(ctx))
  insteadOf(server, 'resources/read', ({ uri }) => {
    const known = fixedResource(String(uri))
    return known && { contents: [{ uri, ...known }] }
  })
  insteadOf(server, 'prompts/get', ({ name, arguments: args = {} }, ctx) => {
    if (name === askingPrompt) return askForContext(ctx)
    const contents = fixedPrompts[String(name)]?.say(args as Record<string, string>)
    return contents && { messages: contents.map((content) => ({ role: 'user', content })) }
  })
  return server
}

/** How the product answers a method; the library has no public way to read it. */
function oursFor(server: Server, method: string): Handler {
  return (server as unknown as { _requestHandlers: Map<string, Handler> })._requestHandlers.get(method)!
}

function extend(server: Server, method: string, change: (answer: Result) => Result): void {
  const ours = oursFor(server, method)
  server.setRequestHandler(
    method as 'tools/list',
    async (request, ctx) => change(await ours(request, ctx)) as never,
  )
}

type Params = Record<string, unknown>

/** Answers in place of the product where `rich` has an answer. */
function insteadOf(
  server: Server,
  method: string,
  rich: (params: Params, ctx: ServerContext) => Result | Promise<Result> | undefined,
): void {
  const ours = oursFor(server, method)
  server.setRequestHandler(method as 'tools/call', async (request, ctx) => {
    return ((await rich(request.params, ctx)) ?? (await ours(request, ctx))) as never
  })
}

const done = (value: string): Result => ({ content: [text(value)] })
const objectOf = (properties: Record<string, unknown>) =>
  ({ type: 'object', properties, required: Object.keys(properties) }) as never
const nameForm = { message: 'What is your name?', requestedSchema: objectOf({ name: { type: 'string' } }) }
const sampling = (prompt: string) => ({
  messages: [{ role: 'user' as const, content: text(prompt) }],
  maxTokens: 100,
})
const hasAnswer = ({ mcpReq }: ServerContext, key: string) => {
  const answer = mcpReq.inputResponses?.[key]
  return typeof answer === 'object' && answer !== null
}

const codec = createRequestStateCodec<{ round: number }>({ key: 'x'.repeat(32) })

/** The round that the state of a call claims; 0 without one. */
async function roundOf(ctx: ServerContext): Promise<number> {
  const state = ctx.mcpReq.requestState<string>()
  if (state === undefined) return 0
  try {
    return (await codec.verify(state, ctx)).round
  } catch {
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState')
  }
}

const okForm = { message: 'Please confirm', requestedSchema: objectOf({ ok: { type: 'boolean' } }) }

async function askWithState(ctx: ServerContext): Promise<Result> {
  if ((await roundOf(ctx)) > 0 && hasAnswer(ctx, 'confirm')) return done('state-ok')
  return inputRequired({
    inputRequests: { confirm: inputRequired.elicit(okForm) },
    requestState: await codec.mint({ round: 1 }),
  })
}

function ask(key: string, request: ReturnType<typeof inputRequired.elicit>) {
  return (ctx: ServerContext): Result => {
    const { mcpReq } = ctx
    if (key === 'user_name') {
      const content = acceptedContent<{ name: string }>(mcpReq.inputResponses, key)
      if (typeof content?.name === 'string') return done(`Hello, ${content.name}!`)
    } else if (hasAnswer(ctx, key)) return done('Thank you')
    return inputRequired({ inputRequests: { [key]: request } })
  }
}

async function askInRounds(ctx: ServerContext): Promise<Result> {
  const round = await roundOf(ctx)
  if (round === 2 && hasAnswer(ctx, 'step2')) return done('Both steps are done')
  const next = round === 1 && hasAnswer(ctx, 'step1') ? 2 : 1
  return inputRequired({
    inputRequests: { [`step${next}`]: inputRequired.elicit({ ...nameForm, message: `Step ${next}` }) },
    requestState: await codec.mint({ round: next }),
  })
}

async function askAll(ctx: ServerContext): Promise<Result> {
  const keys = ['user_name', 'greeting', 'client_roots']
  if ((await roundOf(ctx)) > 0 && keys.every((key) => hasAnswer(ctx, key)))
    return done('All answers are here')
  return inputRequired({
    inputRequests: {
      user_name: inputRequired.elicit(nameForm),
      greeting: inputRequired.createMessage(sampling('Generate a greeting')),
      client_roots: inputRequired.listRoots(),
    },
    requestState: await codec.mint({ round: 1 }),
  })
}

function askForContext(ctx: ServerContext): Result {
  if (hasAnswer(ctx, 'user_context'))
    return { messages: [{ role: 'user', content: text('With your context') }] }
  const requestedSchema = objectOf({ context: { type: 'string' } })
  return inputRequired({
    inputRequests: { user_context: inputRequired.elicit({ message: 'Which context?', requestedSchema }) },
  })
}

const askingPrompt = 'test_input_required_result_prompt'
const askToSample = ask('capital_question', inputRequired.createMessage(sampling('The capital of France?')))

const richTools: Record<string, (ctx: ServerContext) => Result | Promise<Result>> = {
  test_image_content: () => ({ content: [image] }),
  test_audio_content: () => ({ content: [{ type: 'audio', data: wav, mimeType: 'audio/wav' }] }),
  test_embedded_resource: () => ({ content: [embedded('test://embedded-resource')] }),
  test_multiple_content_types: () => ({ content: [text('Several'), image, embedded('test://mixed')] }),
  json_schema_2020_12_tool: () => done('Done'),
  test_input_required_result_elicitation: ask('user_name', inputRequired.elicit(nameForm)),
  test_streaming_elicitation: ask('user_name', inputRequired.elicit(nameForm)),
  test_input_required_result_sampling: askToSample,
  // The only capability that this call of the suite declares.
  test_input_required_result_capabilities: askToSample,
  // The library refuses this for a client without sampling.
  test_missing_capability: askToSample,
  test_input_required_result_list_roots: ask('client_roots', inputRequired.listRoots()),
  test_input_required_result_request_state: askWithState,
  test_input_required_result_tampered_state: askWithState,
  test_input_required_result_multi_round: askInRounds,
  test_input_required_result_multiple_inputs: askAll,
  async test_logging_tool({ mcpReq }) {
    await mcpReq.log('info', 'One line')
    return done('Logged')
  },
}

function listedTools() {
  return Object.keys(richTools).map((name) => ({
    name,
    description: `Does what the conformance suite expects of ${name}.`,
    inputSchema: name === 'json_schema_2020_12_tool' ? schema2020 : { type: 'object' as const },
  }))
}
