import { errorFromResponse } from '../../client/answer-error.ts'
import { createClient } from '../../client/client.ts'
import type { HttpRequest, HttpResponse } from '../../client/http-send.ts'
import type { Operation, RawInputOf } from '../../contract/operation.ts'
import { AppError } from '../../errors.ts'
import { connection } from './connection.ts'

/** Responses by address, for conditional reads (304 if unchanged). Oldest first. */
const kept = new Map<string, { tag: string; text: string }>()
const mostKept = 200

/** The only place of the console that fetches. The browser adds the session cookie; the header is the CSRF defense. */
export async function send(
  url: string,
  request: Omit<HttpRequest, 'body'> & { body: BodyInit | null },
): Promise<HttpResponse> {
  const known = request.method === 'GET' ? kept.get(url) : undefined
  let answer: Response
  try {
    answer = await fetch(url, {
      method: request.method,
      headers: {
        ...request.headers,
        'longshore-console': '1',
        ...(known ? { 'if-none-match': known.tag } : {}),
      },
      body: request.body,
      signal: request.signal ?? null,
      credentials: 'same-origin',
      redirect: 'error',
      cache: 'no-store',
    })
  } catch (error) {
    if (!request.signal?.aborted) connection.note(false)
    throw error
  }
  connection.note(true)
  const header = (name: string) => answer.headers.get(name) ?? undefined
  if (answer.status === 304 && known) return { status: 200, header, text: known.text }
  const text = await answer.text()
  // An answer with secrets in clear is for the requesting page only and is never cached.
  if (request.method === 'GET' && answer.ok && !/[?&]decrypt=true/.test(url)) keep(url, header('etag'), text)
  return { status: answer.status, header, text }
}

function keep(url: string, tag: string | undefined, text: string): void {
  kept.delete(url)
  if (tag === undefined) return
  kept.set(url, { tag, text })
  const oldest = kept.keys().next().value
  if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest)
}

/** Clears all read data from memory after sign-out. */
export function forgetAnswers(): void {
  kept.clear()
}

export const client = createClient({
  url: location.origin,
  token: null,
  surface: 'console',
  fetchImpl: send,
})

/** The effects of a write. The platform masks secret values. */
interface Preview {
  dryRun: true
  changes: { path: string; before: unknown; after: unknown }[]
  effects: string[]
}

/** Runs all checks of a write without any effect. Throws the same `AppError` as the write. */
export async function preview<Row extends Operation>(row: Row, input: RawInputOf<Row>): Promise<Preview> {
  return (await client.call(row, input, { dryRun: true })) as unknown as Preview
}

/** Sends an archive to the address from request-deploy-storage-key. Throws `AppError`. */
export async function upload(uploadUrl: string, archive: Blob): Promise<void> {
  // Only the path matters: the page may have been opened under another name of the same server.
  const url = location.origin + new URL(uploadUrl).pathname
  const answer = await request(url, { method: 'PUT', headers: {}, body: archive, signal: undefined })
  if (answer.status !== 200) throw errorFromResponse(answer, JSON.parse(answer.text), location.origin)
}

/** A status address of the server, such as `/readyz`, with any status code. Throws `AppError` if the server is unavailable. */
export function statusPage(pathname: string, signal: AbortSignal): Promise<HttpResponse> {
  return request(location.origin + pathname, { method: 'GET', headers: {}, body: null, signal })
}

async function request(...args: Parameters<typeof send>): Promise<HttpResponse> {
  try {
    return await send(...args)
  } catch (cause) {
    throw new AppError('unavailable', 'The platform cannot be reached', {
      details: 'Try again in a moment.',
      cause,
    })
  }
}
