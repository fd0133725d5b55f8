import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { AppError } from '../../errors.ts'

/** PUTs an archive to the address from request-deploy-storage-key. `onSent` gets the number of sent bytes. */
export async function uploadArchive(options: {
  file: string
  bytes: number
  uploadUrl: string
  /** Address of the platform, in case the upload address is only a path. */
  baseUrl: string
  signal: AbortSignal
  onSent: (bytes: number) => void
}): Promise<void> {
  const { file, bytes, signal } = options
  const url = new URL(options.uploadUrl, options.baseUrl)
  const { request } = await import('../../http-client.ts')
  let answer: { statusCode: number; body: { text(): Promise<string> } }
  try {
    answer = await request(url, {
      method: 'PUT',
      headers: { 'content-type': 'application/gzip', 'content-length': String(bytes) },
      body: Readable.from(counted(file, options.onSent), { objectMode: false }),
      signal,
      // The platform responds once the archive is on its disk.
      headersTimeout: 300_000,
    })
  } catch (error) {
    signal.throwIfAborted()
    const { code } = error as NodeJS.ErrnoException
    if (!code) throw error
    throw new AppError('unavailable', 'The upload was interrupted', {
      details: `The connection to ${url.origin} ended before the archive was uploaded (${code}). Deploy again.`,
      cause: error,
    })
  }
  const text = await answer.body.text()
  if (answer.statusCode < 200 || answer.statusCode > 299) throw refused(answer.statusCode, text)
}

async function* counted(file: string, onSent: (bytes: number) => void): AsyncGenerator<Buffer> {
  let sent = 0
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    yield chunk
    sent += chunk.length
    onSent(sent)
  }
}

function refused(status: number, text: string): AppError {
  let body: { error?: unknown; details?: unknown } | null = null
  try {
    body = JSON.parse(text)
  } catch {
    // Not an error body of Longshore; use the status.
  }
  const kind = status === 413 ? 'too-large' : status >= 500 ? 'unavailable' : 'invalid'
  return new AppError(
    kind,
    typeof body?.error === 'string' ? body.error : `The upload was rejected (${status})`,
    {
      details: typeof body?.details === 'string' ? body.details : 'Deploy again.',
    },
  )
}
