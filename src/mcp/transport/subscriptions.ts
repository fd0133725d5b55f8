import type { CallTool, ResourceText } from '../resources/resources.ts'
import { type McpServerOptions, respondersOf } from './responses.ts'

/** The resources that a `subscriptions/listen` names; null for any other message. */
export function watchedUris(message: unknown): string[] | null {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: Record<string, unknown> }
  if (method !== 'subscriptions/listen') return null
  const { resourceSubscriptions } = (params?.notifications ?? {}) as { resourceSubscriptions?: unknown }
  if (!Array.isArray(resourceSubscriptions)) return []
  return [...new Set(resourceSubscriptions.filter((uri) => typeof uri === 'string'))]
}

/** Reads a resource for a watch, with the checks of `resources/read`. */
export function readerOf(options: McpServerOptions, token: string | null) {
  const read = respondersOf(options)['resources/read']!
  return async (uri: string, signal: AbortSignal): Promise<string> => {
    const caller = { signal, token, progress: null, askPerson: null }
    const callTool: CallTool = (name, args) => options.callTool({ name, args, ...caller })
    const { contents } = await read({ uri }, { callTool, takesApps: false })
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
