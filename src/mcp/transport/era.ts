import type { IncomingHttpHeaders } from 'node:http'

/** The revision without `initialize`: every request names its revision and the client's capabilities. */
export const revision2026 = '2026-07-28'
export const claimKey = 'io.modelcontextprotocol/protocolVersion'
export const capabilitiesKey = 'io.modelcontextprotocol/clientCapabilities'

/** Whether a message names its revision, which only messages of 2026-07-28 and later do. */
export function claimsRevision(message: unknown): boolean {
  return claimKey in metaOf(message)
}

/** Whether a message is a complete request of 2026-07-28; the library explains incomplete ones. */
export function isRequestOf2026(message: unknown): boolean {
  const capabilities = capabilitiesOf(message)
  return (
    metaOf(message)[claimKey] === revision2026 && typeof capabilities === 'object' && capabilities !== null
  )
}

/** Whether an HTTP body belongs to 2026-07-28 or later, by its messages or by the header that names the revision. */
export function isHttpOf2026(headers: IncomingHttpHeaders, body: unknown): boolean {
  if (headers['mcp-protocol-version'] === revision2026) return true
  return Array.isArray(body) ? body.some(claimsRevision) : claimsRevision(body)
}

/** The capabilities that a request of 2026-07-28 declares. */
export function capabilitiesOf(message: unknown): unknown {
  return metaOf(message)[capabilitiesKey]
}

function metaOf(message: unknown): Record<string, unknown> {
  const { params } = (message ?? {}) as { params?: { _meta?: unknown } }
  const meta = params?._meta
  return typeof meta === 'object' && meta !== null ? (meta as Record<string, unknown>) : {}
}
