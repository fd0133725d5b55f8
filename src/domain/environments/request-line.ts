import type { LoggedRequest } from '../../contract/app-env-reads.ts'

/** A request as one line of text; its path is text of the client. */
export function requestLine(request: LoggedRequest): string {
  const { method, path, status, durationMs, firstByteMs, coldStart, bytesIn, bytesOut } = request
  const { refused, traceId, stream, cut } = request
  const parts = [`${status ?? 'client left'} ${method} ${path} ${durationMs} ms`]
  if (firstByteMs !== null && firstByteMs !== durationMs) parts.push(`first byte ${firstByteMs} ms`)
  if (bytesIn > 0) parts.push(`in ${bytesIn} B`)
  if (bytesOut > 0) parts.push(`out ${bytesOut} B`)
  if (coldStart) parts.push('cold start')
  if (stream) parts.push('stream')
  if (cut) parts.push(`ended by ${cutWords[cut]}`)
  if (refused !== null) parts.push(`gateway: ${refused}`)
  if (traceId !== null) parts.push(`trace ${traceId}`)
  return parts.join(', ')
}

const cutWords: Readonly<Record<NonNullable<LoggedRequest['cut']>, string>> = {
  drain: 'a drain',
  timeout: 'timeoutSeconds',
  container: 'the container',
}

/** How long the client waited: for a stream until its first byte. */
export function responseMsOf({
  stream,
  firstByteMs,
  durationMs,
}: Pick<LoggedRequest, 'stream' | 'firstByteMs' | 'durationMs'>): number {
  return stream ? (firstByteMs ?? durationMs) : durationMs
}
