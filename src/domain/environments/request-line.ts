import type { LoggedRequest } from '../../contract/app-env-reads.ts'

/** A request as one line of text; its path comes from whoever sent the request. */
export function requestLine(request: LoggedRequest): string {
  const { method, path, status, durationMs, firstByteMs, coldStart, bytesIn, bytesOut } = request
  const { refused, traceId } = request
  const parts = [`${status ?? 'client left'} ${method} ${path} ${durationMs} ms`]
  if (firstByteMs !== null && firstByteMs !== durationMs) parts.push(`first byte ${firstByteMs} ms`)
  if (bytesIn > 0) parts.push(`in ${bytesIn} B`)
  if (bytesOut > 0) parts.push(`out ${bytesOut} B`)
  if (coldStart) parts.push('cold start')
  if (refused !== null) parts.push(`gateway: ${refused}`)
  if (traceId !== null) parts.push(`trace ${traceId}`)
  return parts.join(', ')
}
