import { errorFromResponse } from '../../client/answer-error.ts'
import { createClient } from '../../client/client.ts'
import type { HttpRequest, HttpResponse } from '../../client/http-send.ts'
import type { Operation, RawInputOf } from '../../contract/operation.ts'
import { AppError } from '../../errors.ts'
import { connection } from './connection.ts'

/** Responses by address, for conditional reads (304 if unchanged). Oldest first. */
const kept = new Map<string, { tag: string; text: string }>()
const mostKept = 200

interface Outgoing extends Omit<HttpRequest, 'body'> {
  body: BodyInit | null
  /** May be sent again: it has no second effect. Reads may, and writes with an idempotency key. */
  repeatable?: boolean
}

/** The only place of the console that fetches. The browser adds the session cookie; the header is the CSRF defense. */
export async function send(url: string, request: Outgoing): Promise<HttpResponse> {
  const isRead = request.method === 'GET'
  const known = isRead ? kept.get(url) : undefined
  const headers = {
    ...request.headers,
    'longshore-console': '1',
    ...(known ? { 'if-none-match': known.tag } : {}),
  }
  const repeatable = request.repeatable ?? (isRead || 'idempotency-key' in request.headers)
  const { answer, text } = await exchange(url, { ...request, headers }, repeatable)
  const header = (name: string) => answer.headers.get(name) ?? undefined
  if (answer.status === 304 && known) return { status: 200, header, text: known.text }
  // An answer with secrets in clear is for the requesting page only and is never cached.
  if (isRead && answer.ok && !/[?&]decrypt=true/.test(url)) keep(url, header('etag'), text)
  return { status: answer.status, header, text }
}

/** Browsers drop requests whenever a network comes or goes, also those to this machine. */
const pausesMs = [200, 800]

async function exchange(url: string, request: Outgoing, repeatable: boolean) {
  const { method, headers, body, signal = null } = request
  for (let repeats = 0; ; repeats += 1) {
    try {
      const init = { method, headers, body, signal }
      const answer = await fetch(url, {
        ...init,
        credentials: 'same-origin',
        redirect: 'error',
        cache: 'no-store',
      })
      const text = await answer.text()
      connection.note(true)
      return { answer, text }
    } catch (error) {
      if (signal?.aborted) throw error
      const pauseMs = repeatable ? pausesMs[repeats] : undefined
      if (pauseMs === undefined) {
        connection.note(false)
        throw error
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
  }
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
