/** The fields of a JSON-RPC 2.0 message that are needed before the library sees it. */
export interface RpcMessage {
  jsonrpc: '2.0'
  id?: string | number
  method?: string
  params?: Record<string, unknown>
}

export type RequestId = string | number

const knownFields = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error'])

/** Whether a parsed value can be a message; the library validates the rest, but never answers one with other fields. */
export function isRpcMessage(value: unknown): value is RpcMessage {
  if (typeof value !== 'object' || value === null) return false
  if (!Object.keys(value).every((field) => knownFields.has(field))) return false
  const { jsonrpc, id, method } = value as { jsonrpc?: unknown; id?: unknown; method?: unknown }
  const idFits = id === undefined || typeof id === 'string' || typeof id === 'number'
  if (jsonrpc !== '2.0' || !idFits) return false
  return typeof method === 'string' || (id !== undefined && ('result' in value || 'error' in value))
}

/** Id of a request; undefined for notifications and responses. */
export function requestIdOf(message: RpcMessage): RequestId | undefined {
  return message.method === undefined ? undefined : message.id
}

/** Id of the request that a `notifications/cancelled` cancels. */
export function cancelledIdOf(message: RpcMessage): RequestId | undefined {
  if (message.method !== 'notifications/cancelled') return undefined
  const id = message.params?.requestId
  return typeof id === 'string' || typeof id === 'number' ? id : undefined
}

/** Batches ended with revision 2025-06-18. Revisions are dates, so their order is that of their texts. */
export function hasBatches(revision: unknown): boolean {
  return typeof revision !== 'string' || revision < '2025-06-18'
}
