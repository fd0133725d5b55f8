import type { ListedTool } from '../tools/published-tool.ts'
import { environmentPage } from './environment-page.ts'

/** The extension of the protocol with which hosts show pages of servers (MCP Apps). */
const extension = 'io.modelcontextprotocol/ui'
const mimeType = 'text/html;profile=mcp-app'
export const appUri = 'ui://longshore/environment'

/** Reads that the page shows as status and charts. */
const shownReads = ['get-app-env-status', 'get-app-env-metrics-series']
/** Writes whose dry run the page shows as a diff that the person can confirm. */
const shownWrites = [
  'apply-app-env-changes',
  'update-app-env',
  'update-app-env-variables',
  'update-function-config',
  'scale-app-env-containers',
  'redeploy-app-env',
  'delete-app-env',
]
const shown = new Set([...shownReads, ...shownWrites])

/** Whether the capabilities of a client declare that it shows pages. */
export function takesApps(capabilities: unknown): boolean {
  const { extensions } = (capabilities ?? {}) as { extensions?: Record<string, { mimeTypes?: unknown }> }
  const types = extensions?.[extension]?.mimeTypes
  return Array.isArray(types) && types.includes(mimeType)
}

/** The tools, with the page on those that it shows. */
export function withApp(tools: readonly ListedTool[]): ListedTool[] {
  return tools.map((tool) =>
    shown.has(tool.name) ? { ...tool, _meta: { ui: { resourceUri: appUri } } } : tool,
  )
}

export const listedApp = {
  uri: appUri,
  name: 'environment',
  title: 'Environment',
  description: 'Shows status and charts of an environment, and a change before it is made.',
  mimeType,
}

/** The page needs no network: it gets its data from the host, and declares no other origin. */
export function readApp() {
  return { uri: appUri, mimeType, text: environmentPage, _meta: { ui: { prefersBorder: true } } }
}
