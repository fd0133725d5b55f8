import { plainLine } from '../../contract/fields.ts'
import { AppError } from '../../errors.ts'
import { withApp } from '../apps/apps.ts'
import { sanitizeInline } from '../policy/untrusted-text.ts'
import { completionOf } from '../resources/completions.ts'
import { getPrompt, listedPrompts } from '../resources/prompts.ts'
import { type CallTool, listedResources, listedTemplates, readResource } from '../resources/resources.ts'
import { listedSkills, skillAt } from '../resources/skills.ts'
import type { ListedTool } from '../tools/published-tool.ts'
import type { ToolResult } from '../tools/result.ts'
import type { TaskRef } from '../tools/task-ref.ts'

/** One `tools/call`, passed on by the adapter of its protocol era. */
export interface IncomingCall {
  name: string
  args: Record<string, unknown>
  signal: AbortSignal
  /** The `Authorization` value of the request that carried the call; null on stdio. */
  token: string | null
  /** `_meta.traceparent` of the call, unchecked. */
  traceparent?: unknown
  /** How the client names itself, unchecked. */
  clientInfo?: unknown
  progress: ((message: string, done: number, total: number | undefined) => void) | null
  askPerson: ((question: string, yes: string) => Promise<boolean>) | null
  /** Whether the client takes tasks in place of results. */
  takesTasks?: boolean
  /** Reads or cancels a task of the tool, in place of a call. */
  task?: { ref: TaskRef; cancel: boolean }
}

export interface McpServerOptions {
  tools(): ListedTool[] | Promise<ListedTool[]>
  /** The tools that can be called, which prompts and resources depend on. Default: those that are listed. */
  callable?(): ReadonlySet<string> | Promise<ReadonlySet<string>>
  callTool(call: IncomingCall): Promise<ToolResult>
}

/** The name for the audit log; undefined for a client that gives none. */
export function agentNameOf(clientInfo: unknown): string | undefined {
  const { title, name } = (clientInfo ?? {}) as { title?: unknown; name?: unknown }
  const given = [title, name].find((one) => typeof one === 'string' && one.trim() !== '')
  if (given === undefined) return undefined
  // Half of a pair cannot be sent in a header.
  return (
    plainLine(given as string)
      .replace(/\s+/g, ' ')
      .slice(0, 100)
      .replace(/\p{Cs}/gu, '')
      .trim() || undefined
  )
}

type Params = Record<string, unknown>
type Answer = Record<string, unknown>

interface Requester {
  callTool: CallTool
  /** Whether its host shows pages of servers. */
  takesApps: boolean
}

/** Answers one method. Throws `AppError`, which the adapter turns into a protocol error. */
type Responder = (params: Params, requester: Requester) => Promise<Answer>

/** The answers that both eras share, by method; the adapters answer `tools/call`. */
export function respondersOf(options: McpServerOptions): Readonly<Record<string, Responder>> {
  const names = async () =>
    (await options.callable?.()) ?? new Set((await options.tools()).map(({ name }) => name))
  return {
    'tools/list': async (params, { takesApps }) => ({
      ...onePage(params),
      tools: takesApps ? withApp(await options.tools()) : await options.tools(),
    }),
    'resources/list': async (params, { takesApps }) => ({
      ...onePage(params),
      resources: listedResources(await names(), takesApps),
    }),
    'resources/templates/list': async (params) => ({
      ...onePage(params),
      resourceTemplates: listedTemplates(await names()),
    }),
    'resources/read': async ({ uri }, { callTool }) => ({
      contents: [await readResource(String(uri), await names(), callTool)],
    }),
    'completion/complete': async (params, { callTool }) => ({
      completion: await completionOf(params, await names(), callTool),
    }),
    'skills/list': async (params) => ({ ...onePage(params), skills: listedSkills() }),
    'skills/get': async ({ uri }) => ({ skill: skillAt(uri) }),
    'prompts/list': async (params) => ({ ...onePage(params), prompts: listedPrompts(await names()) }),
    'prompts/get': async ({ name, arguments: args = {} }, { callTool }) =>
      promptResponse(await getPrompt(String(name), args as Record<string, string>, await names(), callTool)),
  }
}

/** Every list is one page, so no cursor was ever issued. */
function onePage({ cursor }: Params): Answer {
  if (cursor === undefined) return {}
  throw new AppError('invalid', 'cursor is invalid', { details: 'The list has one page; omit cursor.' })
}

function promptResponse({ description, text, resources }: Awaited<ReturnType<typeof getPrompt>>): Answer {
  const known = resources.map((resource) => ({ role: 'user', content: { type: 'resource', resource } }))
  return { description, messages: [{ role: 'user', content: { type: 'text', text } }, ...known] }
}

/** Result of `tools/call`: the same facts as text and as an object, and links for clients that take them. */
export function toolResponse(
  { isError, text, structured, links = [] }: ToolResult,
  takesLinks: boolean,
): Answer {
  const linked = takesLinks ? links.map((link) => ({ type: 'resource_link', ...link })) : []
  return {
    content: [{ type: 'text', text }, ...linked],
    structuredContent: structured,
    ...(isError ? { isError: true } : {}),
  }
}

/** Unlike tools, resources and prompts have no error results, so their errors become protocol errors. */
export function protocolErrorText({ message, details }: AppError): string {
  return sanitizeInline(details === undefined ? message : `${message}. ${details}`, 4_000)
}

/** Runs a responder; `toError` makes the protocol error of an `AppError`. */
export async function respond<T>(work: () => Promise<T>, toError: (error: AppError) => Error): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof AppError ? toError(error) : error
  }
}

/** A progress sender whose values increase with every notification, even if the clock did not. */
export function increasingProgress(
  progressToken: string | number,
  notify: (notification: { method: 'notifications/progress'; params: Params }) => Promise<void>,
): NonNullable<IncomingCall['progress']> {
  let last = -1
  return (message, done, total) => {
    last = Math.max(last + 0.001, done)
    const params = { progressToken, progress: last, ...(total === undefined ? {} : { total }), message }
    // If the caller disconnected, the signal aborts the call.
    notify({ method: 'notifications/progress', params }).catch(() => {})
  }
}

/** The form of a yes-or-no question to the person. */
export function questionForm(question: string, yes: string) {
  return {
    message: question,
    requestedSchema: {
      type: 'object' as const,
      properties: { agree: { type: 'boolean' as const, title: yes, default: false } },
      required: ['agree'],
    },
  }
}

/** Whether an answer to `questionForm` is a clear yes. */
export function isYes(answer: unknown): boolean {
  const { action, content } = (answer ?? {}) as { action?: unknown; content?: { agree?: unknown } }
  return action === 'accept' && content?.agree === true
}

/** Answers to questions are checked where they are used; the libraries' validators take 10 ms to load. */
export const noValidator = {
  getValidator: () => (input: unknown) => ({
    valid: true as const,
    data: input as never,
    errorMessage: undefined,
  }),
}
