import { isIngressMetric, type Metric } from '../../contract/metrics.ts'

/** Where Prometheus has the samples of an environment. */
export interface PrometheusTarget {
  namespace: string
  /** The Deployment, StatefulSet or Knative Service, and the Service of the same name. */
  workload: string
}

/** The four kinds of query; each of the fifteen metrics is computed from one of them. */
export type SampleKind = 'cpu' | 'memory' | 'requests' | 'latency'

/** Length of `rate` windows: at least two scrapes, so the scrape interval may be up to 30 s. */
const rateWindowMs = 60_000
const window = `[${rateWindowMs / 1_000}s]`
const windowAgo = `offset ${rateWindowMs / 1_000}s`

export function kindOf(metric: Metric): SampleKind {
  if (metric.endsWith('_latency')) return 'latency'
  if (isIngressMetric(metric)) return 'requests'
  return metric.startsWith('cpu_') ? 'cpu' : 'memory'
}

/**
 * PromQL for the samples of several environments at once. CPU in cores and memory in bytes by pod, with a label `of`
 * for what is `used` and for the `limit`; request rates by Traefik service and status code, latency bucket rates by
 * service and `le`. The series with `of="scraped"` has the times at which Traefik was scraped.
 */
export function queryFor(kind: SampleKind, targets: readonly PrometheusTarget[]): string {
  switch (kind) {
    case 'cpu': {
      const of = containersOf(targets)
      return usedAndLimit(
        `rate(container_cpu_usage_seconds_total${of}${window})`,
        `container_spec_cpu_quota${of} / container_spec_cpu_period${of}`,
      )
    }
    case 'memory': {
      const of = containersOf(targets)
      return usedAndLimit(
        `container_memory_working_set_bytes${of}`,
        `container_spec_memory_limit_bytes${of} > 0`,
      )
    }
    case 'requests':
      return `sum by (service, code) (${increase(`traefik_service_requests_total${servicesOf(targets)}`)}) or label_replace(count(traefik_config_reloads_total), "of", "scraped", "", "")`
    case 'latency':
      return `sum by (service, le) (${increase(`traefik_service_request_duration_seconds_bucket${servicesOf(targets)}`)})`
  }
}

function usedAndLimit(used: string, limit: string): string {
  const marked = (text: string, of: string) =>
    `label_replace(sum by (namespace, pod) (${text}), "of", "${of}", "", "")`
  return `${marked(used, 'used')} or ${marked(limit, 'limit')}`
}

/**
 * Increase of a counter per second. A new series of a Traefik that was scraped before is taken to have begun at 0:
 * otherwise the first errors of an environment would never count.
 */
function increase(counter: string): string {
  const isNew = `((${counter} unless ${counter} ${windowAgo}) and on (instance) (traefik_config_reloads_total ${windowAgo}))`
  return `${isNew} / ${rateWindowMs / 1_000} or rate(${counter}${window})`
}

/** The query also matches pods of workloads with a similar name; `podWorkload` filters them out. */
function containersOf(targets: readonly PrometheusTarget[]): string {
  const namespaces = [...new Set(targets.map(({ namespace }) => namespace))]
  const workloads = targets.map(({ workload }) => `${workload}-.+`)
  return `{namespace=~${anyOf(namespaces)}, pod=~${anyOf(workloads)}, container!=""}`
}

function servicesOf(targets: readonly PrometheusTarget[]): string {
  const names = targets.map(({ namespace, workload }) => `${namespace}-${workload}-.+`)
  return `{service=~${anyOf(names)}}`
}

function anyOf(patterns: readonly string[]): string {
  return JSON.stringify(patterns.join('|'))
}

/** Kubernetes ends the names of pods with a hash and a random part (Deployment), or with a number (StatefulSet). */
export function podWorkload(pod: string): string {
  return /^(.+?)(?:-[a-z0-9]{6,10}-[a-z0-9]{5}|-\d+)$/.exec(pod)?.[1] ?? pod
}

/** `<namespace>-<workload>` of a Traefik service: a port of a Service, or a traffic split of a Knative route. */
export function servedWorkload(service: string): string {
  const found =
    /^(.+)-rule-\d+-path-\d+-split-\d+@knative$/.exec(service) ?? /^(.+)-[a-z0-9]+@kubernetes$/.exec(service)
  return found?.[1] ?? service
}
