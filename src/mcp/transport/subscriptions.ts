import type { CallTool, ResourceText } from '../resources/resources.ts'
import { type McpServerOptions, respondersOf } from './responses.ts'

/** Lists that depend on the rights of their caller, by the field of a subscription that names them. */
const lists = {
  toolsListChanged: 'tools/list',
  promptsListChanged: 'prompts/list',
  resourcesListChanged: 'resources/list',
} as const

/** The event of a watched list that changed; undefined for a resource. */
export const listEvents = {
  'tools/list': { kind: 'tools_list_changed' },
  'prompts/list': { kind: 'prompts_list_changed' },
  'resources/list': { kind: 'resources_list_changed' },
} as const

/** The resources and lists that a `subscriptions/listen` names; null for any other message. */
export function watchedUris(message: unknown): string[] | null {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: Record<string, unknown> }
  if (method !== 'subscriptions/listen') return null
  const wanted = (params?.notifications ?? {}) as Record<string, unknown>
  const named = Object.entries(lists).flatMap(([field, list]) => (wanted[field] === true ? [list] : []))
  const { resourceSubscriptions: uris } = wanted
  const resources = Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : []
  return [...named, ...new Set(resources)]
}

/** Reads a resource or a list for a watch, with the checks of its method. */
export function readerOf(options: McpServerOptions, token: string | null) {
  const responders = respondersOf(options)
  return async (uri: string, signal: AbortSignal): Promise<string> => {
    const caller = { signal, token, progress: null, askPerson: null }
    const callTool: CallTool = (name, args) => options.callTool({ name, args, ...caller })
    const requester = { callTool, takesApps: false }
    if (uri in listEvents) return JSON.stringify(await responders[uri]!({}, requester))
    const { contents } = await responders['resources/read']!({ uri }, requester)
    const [{ text, mimeType }] = contents as [ResourceText]
    return mimeType === 'application/json' ? withoutMark(text) : text.replaceAll(markInText, '')
  }
}

/** Each read has another mark around the text of tenants. */
const markInText = /<\/?untrusted [^>]*>/g
function withoutMark(json: string): string {
  const { untrusted: _mark, ...facts } = JSON.parse(json)
  return JSON.stringify(facts)
}
