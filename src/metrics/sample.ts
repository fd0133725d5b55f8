import type { BucketCounts } from '../gateway/histogram.ts'

/** One container over one sampling period. */
export interface ContainerSample {
  cpuMillicores: number
  cpuLimitMillicores: number
  memoryMb: number
  memoryLimitMb: number
}

/** What the gateway counted since the sample before. */
export interface IngressSample {
  /** Time over which it counted. */
  seconds: number
  requests: number
  answered4xx: number
  answered5xx: number
  latency: BucketCounts
}

/** What was measured of one environment in one sampling period. */
export interface Sample {
  appEnvId: string
  /** Empty where nothing runs, and always for functions (F9). */
  containers: readonly ContainerSample[]
  /** Null where no gateway counts: databases, stopped environments, a gateway that is away. */
  ingress: IngressSample | null
}
