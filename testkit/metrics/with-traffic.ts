import type { MetricReader, MetricValues } from '../../src/metrics/source.ts'

/** Values of a test's own source, and the requests that the platform counted. */
export function withTraffic(values: MetricValues, counted: Pick<MetricReader, 'traffic'>): MetricReader {
  return {
    periodMs: values.periodMs,
    series: (query) => values.series(query),
    traffic: (queries) => counted.traffic(queries),
  }
}
