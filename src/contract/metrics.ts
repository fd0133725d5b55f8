/** Metrics of alerts and series (2.7), with the unit of their thresholds and points. */
export const metricUnits = {
  cpu_percent: '%',
  memory_percent: '%',
  cpu_usage: 'millicores',
  memory_usage: 'MB',
  cpu_percent_per_pod: '%',
  memory_percent_per_pod: '%',
  cpu_usage_per_pod: 'millicores',
  memory_usage_per_pod: 'MB',
  ingress_request_rate: 'req/s',
  ingress_5xx_rate: 'err/s',
  ingress_5xx_percent: '%',
  ingress_4xx_rate: 'err/s',
  ingress_4xx_percent: '%',
  ingress_p95_latency: 's',
  ingress_p99_latency: 's',
  certificate_days_left: 'days',
} as const
export type Metric = keyof typeof metricUnits

export const metrics = Object.keys(metricUnits) as [Metric, ...Metric[]]

/** Those that samples have; their order is that of stored records. The others follow from the store. */
export const sampledMetrics: readonly Metric[] = metrics.filter(
  (metric) => metric !== 'certificate_days_left',
)

/** Usual thresholds (2.7). */
export const defaultThresholds: Readonly<Record<Metric, number>> = {
  cpu_percent: 80,
  memory_percent: 80,
  cpu_usage: 500,
  memory_usage: 512,
  cpu_percent_per_pod: 80,
  memory_percent_per_pod: 80,
  cpu_usage_per_pod: 500,
  memory_usage_per_pod: 512,
  ingress_request_rate: 1000,
  ingress_5xx_rate: 1,
  ingress_5xx_percent: 5,
  ingress_4xx_rate: 10,
  ingress_4xx_percent: 10,
  ingress_p95_latency: 2,
  ingress_p99_latency: 5,
  certificate_days_left: 14,
}

/** The side of its threshold on which a metric is a problem. */
export function usualOperator(metric: Metric): 'gt' | 'lt' {
  return metric === 'certificate_days_left' ? 'lt' : 'gt'
}

export function isIngressMetric(metric: Metric): boolean {
  return metric.startsWith('ingress_')
}
