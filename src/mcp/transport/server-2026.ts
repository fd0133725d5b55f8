/**
 * The adapter to the MCP library of revision 2026-07-28. It is loaded when a request of that revision arrives; server.ts
 * serves the revisions before it.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { AppError } from '../../errors.ts'
import { takesApps } from '../apps/apps.ts'
import { QuestionPending, type QuestionStates, type QuestionSubject } from '../policy/questions.ts'
import { isGuide } from '../resources/resources.ts'
import { skillsExtension } from '../resources/skills.ts'
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
import { takesTasks, taskResponders, taskResponse, tasksExtension } from './task-responses.ts'

export interface Server2026Options extends McpServerOptions {
  questions: QuestionStates
}

/** Lists depend on the caller, and stay the same until the platform is updated. */
const listHint = { ttlMs: 5 * 60_000, cacheScope: 'private' as const }
const fixedHint = { ttlMs: 60 * 60_000, cacheScope: 'public' as const }
/** The one question of a call. */
const questionKey = 'confirm'

/** Made once: each request has a server object of its own. */
const anyParams = z.looseObject({})
const taskParams = z.looseObject({ taskId: z.string() })

/** A server object for one request, or for one stdio connection. */
export function createServer2026(options: Server2026Options): Server {
  const server = new Server(serverInfo, {
    capabilities: {
      tools: { listChanged: true },
      resources: { subscribe: true, listChanged: true },
      prompts: { listChanged: true },
      completions: {},
      extensions: { [tasksExtension]: {}, [skillsExtension]: {} },
    },
    instructions,
    jsonSchemaValidator: noValidator,
    cacheHints: {
      'server/discover': fixedHint,
      'tools/list': listHint,
      'prompts/list': listHint,
      'resources/list': listHint,
      'resources/templates/list': listHint,
    },
  })
  for (const [method, responder] of Object.entries(respondersOf(options))) {
    const answer = async (params: Record<string, unknown>, ctx: ServerContext) => {
      const caller = { signal: ctx.mcpReq.signal, token: tokenOf(ctx), progress: null, askPerson: null }
      const answered = await respond(
        () =>
          responder(params, {
            callTool: (name, args) => options.callTool({ name, args, ...caller }),
            takesApps: takesApps(capabilitiesOf(ctx)),
          }),
        (error) => protocolError(error, params),
      )
      const isFixed = isOfSkills(method) || isGuide(params.uri)
      return { ...answered, ...(isFixed ? fixedHint : {}) } as never
    }
    // The library checks the parameters of its own methods.
    if (isOfSkills(method)) server.setRequestHandler(method, { params: anyParams }, answer)
    else server.setRequestHandler(method as 'tools/list', ({ params }, ctx) => answer({ ...params }, ctx))
  }
  serveTasks(server, options)
  server.setRequestHandler('tools/call', async ({ params }, ctx) => {
    const { name, arguments: args = {} } = params
    return (await callTool(options, { name, args }, ctx)) as never
  })
  return server
}

function isOfSkills(method: string): boolean {
  return method.startsWith('skills/')
}

/** Serves the methods of tasks to clients that declare the extension. */
function serveTasks(server: Server, options: Server2026Options): void {
  for (const [method, responder] of Object.entries(taskResponders)) {
    server.setRequestHandler(method, { params: taskParams }, async ({ taskId }, ctx) => {
      if (!takesTasks(capabilitiesOf(ctx))) throw missingTasks()
      const caller = { token: tokenOf(ctx), clientInfo: envelopeOf(ctx)[CLIENT_INFO_META_KEY] }
      const call = { ...caller, signal: ctx.mcpReq.signal, args: {}, progress: null, askPerson: null }
      return respond(
        () =>
          responder(taskId, {
            run: (name, task) => options.callTool({ ...call, name, task }),
            opensUrls: capabilitiesOf(ctx).elicitation?.url !== undefined,
          }),
        (error) => protocolError(error, {}),
      )
    })
  }
}

function missingTasks(): ProtocolError {
  const data = { requiredCapabilities: { extensions: { [tasksExtension]: {} } } }
  const error = new AppError('invalid', 'Missing required client capability')
  const code = ProtocolErrorCode.MissingRequiredClientCapability
  return new ProtocolError(code, protocolErrorText(error), data)
}

async function callTool(
  options: Server2026Options,
  { name, args }: Pick<IncomingCall, 'name' | 'args'>,
  ctx: ServerContext,
): Promise<unknown> {
  const token = tokenOf(ctx)
  const subject = { token, tool: name, args }
  const askPerson = canAsk(ctx) ? await answerOf(options.questions, subject, ctx) : null
  const { signal } = ctx.mcpReq
  try {
    const progress = progressOf(ctx)
    const { traceparent } = ctx.mcpReq._meta ?? {}
    const clientInfo = envelopeOf(ctx)[CLIENT_INFO_META_KEY]
    const tasks = takesTasks(capabilitiesOf(ctx))
    const result = await options.callTool({
      ...{ name, args, signal, token, traceparent, clientInfo, progress, askPerson },
      takesTasks: tasks,
    })
    return result.task ? taskResponse(result.task) : toolResponse(result, true)
  } catch (error) {
    if (!(error instanceof QuestionPending)) throw error
    const { question, yes } = error
    return inputRequired({
      inputRequests: { [questionKey]: inputRequired.elicit(questionForm(question, yes)) },
      requestState: options.questions.issue(question, subject),
    })
  }
}

function canAsk(ctx: ServerContext): boolean {
  const { elicitation } = capabilitiesOf(ctx)
  // Without a mode, a client supports forms.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

interface ClientCapabilities {
  elicitation?: { form?: unknown; url?: unknown }
}

function capabilitiesOf(ctx: ServerContext): ClientCapabilities {
  return (envelopeOf(ctx)[CLIENT_CAPABILITIES_META_KEY] ?? {}) as ClientCapabilities
}

function envelopeOf({ mcpReq }: ServerContext): Record<string, unknown> {
  return (mcpReq.envelope ?? {}) as Record<string, unknown>
}

/** Answers a question from the responses of this call; a question that they do not answer ends the call. */
async function answerOf(
  questions: QuestionStates,
  subject: QuestionSubject,
  { mcpReq }: ServerContext,
): Promise<NonNullable<IncomingCall['askPerson']>> {
  const state = mcpReq.requestState<string>()
  const responses = mcpReq.inputResponses ?? {}
  const answer = Object.hasOwn(responses, questionKey) ? responses[questionKey] : undefined
  const isAnswered =
    state === undefined || answer === undefined
      ? () => false
      : await respond(() => questions.redeem(state, subject), invalidState)
  return async (question, yes) => {
    if (!isAnswered(question)) throw new QuestionPending(question, yes)
    return isYes(answer)
  }
}

function invalidState(error: AppError): ProtocolError {
  const reason = { reason: 'invalid_request_state' }
  return new ProtocolError(ProtocolErrorCode.InvalidParams, protocolErrorText(error), reason)
}

/** The revision has no code for a missing resource; it is an invalid parameter, named in the data. */
function protocolError(error: AppError, { uri }: Record<string, unknown>): ProtocolError {
  const isCallers = error.kind === 'not-found' || error.kind === 'invalid'
  const code = isCallers ? ProtocolErrorCode.InvalidParams : ProtocolErrorCode.InternalError
  const data = error.kind === 'not-found' && uri !== undefined ? { uri } : undefined
  return new ProtocolError(code, protocolErrorText(error), data)
}

function progressOf({ mcpReq }: ServerContext): IncomingCall['progress'] {
  const progressToken = mcpReq._meta?.progressToken
  return progressToken === undefined ? null : increasingProgress(progressToken, (one) => mcpReq.notify(one))
}

function tokenOf(ctx: ServerContext): string | null {
  return ctx.http?.authInfo?.token ?? null
}
