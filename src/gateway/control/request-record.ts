/** Whether requests are logged; `with-query` keeps query strings, which often hold personal data or keys. */
export type RequestLogMode = 'on' | 'off' | 'with-query'

/**
 * Why a response that had begun ended before it was complete. `drain`: its container or the gateway was being replaced
 * or stopped. `timeout`: at timeoutSeconds. `container`: the container broke off.
 */
export type CutResponse = 'drain' | 'timeout' | 'container'

/** One kept request of an environment. Method and path are text of the client. */
export interface RequestRecord {
  /** Wall time at which the request was done. */
  endedMs: number
  method: string
  /** Ends in `…` if it was cut. */
  path: string
  /** 0: the client disconnected before a response began. */
  status: number
  /** From arrival to the last byte of the response. */
  durationMs: number
  /** From arrival to the first byte of the container's response; null if it sent none. */
  firstByteMs: number | null
  container: string | null
  /** It waited for the first container of a function to start. */
  coldStart: boolean
  /** Bytes of the bodies. */
  bytesIn: number
  bytesOut: number
  /** Why the gateway answered or broke off in place of the container: one of its own sentences. */
  refused: string | null
  /** An event stream or a WebSocket: its duration is not a response time. */
  stream: boolean
  cut: CutResponse | null
  /** The address of the client, by the word of trusted proxies. */
  clientAddress: string
  traceId: string | null
  /** The gateway's own span, if the request brought no trace; else null. */
  spanId: string | null
  /** The span of the client that the request names. */
  parentSpanId: string | null
  /** It stands for this many requests of its kind; 1 if all were kept. */
  oneIn: number
}

export interface RequestBatch {
  appEnvId: string
  /** In the order in which they were done. */
  records: RequestRecord[]
}
