export interface TrafficSample {
  appEnvId: string
  requests: number
  answered4xx: number
  answered5xx: number
  /** The client disconnected after a second or more without the beginning of a response. */
  unanswered: number
  /** Event streams and WebSockets that a drain ended since the last sample; they were answered before. */
  drained?: number
  inFlight: number
  queued: number
  /** Response times since the last sample, as counts of a fixed log-scale histogram (histogram.ts). */
  latency: Record<string, number>
}
