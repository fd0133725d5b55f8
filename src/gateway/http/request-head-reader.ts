import {
  type HeaderBlock,
  maxHeadBytes,
  parseRequestHead,
  type RequestHead,
  RequestRefused,
} from './request-head.ts'

/** `data` from `start` to `end` is a request head; `head` is null while it is incomplete, and `end` is `start`. */
export interface ReadHead {
  head: RequestHead | null
  start: number
  end: number
}

/** Splits the bytes of one client into request heads. */
export class RequestHeadReader {
  /** The header block of the last request: clients mostly send the same headers again. */
  #block: HeaderBlock | null = null

  /** Throws `RequestRefused`. */
  read(data: Buffer): ReadHead {
    let start = 0
    while (data[start] === 13 && data[start + 1] === 10) start += 2
    const text = data.toString('latin1', start, Math.min(data.length, start + maxHeadBytes))
    const end = text.indexOf('\r\n\r\n')
    if (end < 0) {
      refuseHopeless(text)
      return { head: null, start, end: start }
    }
    const head = parseRequestHead(text.slice(0, end), this.#block)
    this.#block = head.block
    return { head, start, end: start + end + 4 }
  }
}

/** Refuses an incomplete head that cannot become a request, now and not after a time-out. */
function refuseHopeless(text: string): void {
  if (text.length >= maxHeadBytes) {
    const details = 'Request line and headers may have 32 KiB together.'
    throw new RequestRefused(431, 'Request head too large', details)
  }
  if (/^[^\r\n]{0,4096}\n/.test(text)) {
    throw new RequestRefused(400, 'Bad request', 'The request line is not HTTP.')
  }
}
