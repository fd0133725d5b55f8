import { readUpTo } from '../../read-up-to.ts'
import { createDial, type DialOptions, dialFailure } from './dial.ts'

interface Document {
  status: number
  /** Content-Type; empty if there is none. */
  type: string
  body: Buffer
}

/** One GET without redirects, of at most `bytes`. Throws `Error` whose message is public. */
type FetchDocument = (url: string, bytes: number) => Promise<Document>

/** Reads documents at addresses that strangers choose, with the checks of all outbound requests. */
export function createFetchDocument(options: DialOptions): FetchDocument {
  const dial = createDial(options)
  return async (url, bytes) => {
    try {
      return await dial({ url }, async (dispatcher, address, signal) => {
        const headers = { 'user-agent': 'Longshore', accept: 'application/json' }
        const { request } = await import('../../http-client.ts')
        const answer = await request(address, { headers, dispatcher, signal })
        const body = await readUpTo(answer.body, bytes)
        if (body === null) throw new TooLong(`it has more than ${bytes} bytes`)
        return { status: answer.statusCode, type: String(answer.headers['content-type'] ?? ''), body }
      })
    } catch (error) {
      throw error instanceof TooLong ? error : new Error(dialFailure(error, options.deadlineMs).message)
    }
  }
}

class TooLong extends Error {}
