import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { request } from 'undici'
import { AppError } from '../errors.ts'

/** PUTs a packed archive to the address that request-deploy-storage-key gave. `onSent` hears the bytes so far. */
export async function uploadArchive(options: {
  file: string
  bytes: number
  uploadUrl: string
  /** Address of the platform, should the upload address be a path only. */
  baseUrl: string
  signal: AbortSignal
  onSent: (bytes: number) => void
}): Promise<void> {
  const { file, bytes, signal } = options
  const url = new URL(options.uploadUrl, options.baseUrl)
  let answer: { statusCode: number; body: { text(): Promise<string> } }
  try {
    answer = await request(url, {
      method: 'PUT',
      headers: { 'content-type': 'application/gzip', 'content-length': String(bytes) },
      body: Readable.from(counted(file, options.onSent), { objectMode: false }),
      signal,
      // The platform answers when the archive is safely on its disk.
      headersTimeout: 300_000,
    })
  } catch (error) {
    signal.throwIfAborted()
    const { code } = error as NodeJS.ErrnoException
    if (!code) throw error
    throw new AppError('unavailable', 'The upload was cut off', {
      details: `The connection to ${url.origin} ended before the archive was there (${code}). Deploy again.`,
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
  let said: { error?: unknown; details?: unknown } | null = null
  try {
    said = JSON.parse(text)
  } catch {
    // Not Longshore's own error body; the status has to do.
  }
  const kind = status === 413 ? 'too-large' : status >= 500 ? 'unavailable' : 'invalid'
  return new AppError(
    kind,
    typeof said?.error === 'string' ? said.error : `The upload was refused (${status})`,
    {
      details: typeof said?.details === 'string' ? said.details : 'Deploy again.',
    },
  )
}
