import { apiPrefix } from '../../src/contract/operation.ts'

export interface RawRequest {
  token?: string | null
  input?: Record<string, unknown>
  headers?: Record<string, string>
}

export interface RawAnswer {
  status: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: each test knows the shape it reads
  json: any
  headers: Headers
}

/** One request as it is: for statuses, bytes and headers. GET and DELETE send `input` as the query. */
export async function rawRequest(
  apiUrl: string,
  method: string,
  pathname: string,
  options: RawRequest,
): Promise<RawAnswer> {
  const inQuery = method === 'GET' || method === 'DELETE'
  const query = new URLSearchParams()
  if (inQuery) for (const [name, value] of Object.entries(options.input ?? {})) query.set(name, String(value))
  const headers: Record<string, string> = { ...options.headers }
  if (options.token) headers.authorization = options.token
  if (!inQuery) headers['content-type'] = 'application/json'
  const url = `${apiUrl}${apiPrefix}${pathname}${inQuery ? `?${query}` : ''}`
  const answer = await fetch(url, {
    method,
    headers,
    ...(inQuery ? {} : { body: JSON.stringify(options.input ?? {}) }),
  })
  const text = await answer.text()
  return {
    status: answer.status,
    text,
    json: text === '' ? null : JSON.parse(text),
    headers: answer.headers,
  }
}
