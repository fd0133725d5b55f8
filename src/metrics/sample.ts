import type { BucketCounts } from './histogram.ts'

/** One container over one sampling period. */
export interface ContainerSample {
  cpuMillicores: number
  cpuLimitMillicores: number
  memoryMb: number
  memoryLimitMb: number
}

/** Traffic that the gateway counted since the previous sample. */
export interface IngressSample {
  /** Length of the counting period. */
  seconds: number
  requests: number
  answered4xx: number
  answered5xx: number
  latency: BucketCounts
}

/** The measurements of one environment in one sampling period. */
export interface Sample {
  appEnvId: string
  /** Empty if nothing runs, and always for functions (F9). */
  containers: readonly ContainerSample[]
  /** Null without a gateway: databases, jobs, or while the gateway is down. */
  ingress: IngressSample | null
}
