import type { RangeSeries } from './client.ts'
import { type PrometheusTarget, podWorkload, type SampleKind, servedWorkload } from './queries.ts'

/** One environment at one time. */
export interface TargetSample {
  t: number
  /** Running pods: cores or bytes. A limit of 0 means that there is none. */
  pods: { used: number; limit: number }[]
  /** Requests a second by status code; null when the ingress was not scraped. */
  codes: Map<string, number> | null
  /** Requests a second that took at most `le` seconds; in the order of `le`, the last one infinite. */
  buckets: { le: number; rate: number }[]
}

/** The key of a target in the result of `samplesByTarget`. */
export function targetKey({ namespace, workload }: PrometheusTarget): string {
  return `${namespace}-${workload}`
}

/** The response of `queryFor(kind, targets)`, by environment and in the order of time. */
export function samplesByTarget(
  kind: SampleKind,
  targets: readonly PrometheusTarget[],
  series: readonly RangeSeries[],
): Map<string, TargetSample[]> {
  const collectors = new Map(targets.map((target) => [targetKey(target), new Collector()]))
  const pods = new Map(targets.map((target) => [`${target.namespace}/${target.workload}`, target]))
  for (const { labels, samples } of series) {
    if (kind === 'cpu' || kind === 'memory') {
      const target = pods.get(`${labels.namespace}/${podWorkload(labels.pod ?? '')}`)
      if (target) collectors.get(targetKey(target))?.addPod(labels, samples)
    } else if (labels.of === 'scraped') {
      for (const collector of collectors.values()) collector.addScrapes(samples)
    } else collectors.get(servedWorkload(labels.service ?? ''))?.addTraffic(labels, samples)
  }
  return new Map([...collectors].map(([key, collector]) => [key, collector.samples()]))
}

class Collector {
  readonly #at = new Map<number, TargetSample>()
  readonly #pods = new Map<string, Map<number, { used?: number; limit?: number }>>()

  addPod(labels: RangeSeries['labels'], samples: RangeSeries['samples']): void {
    const pod = this.#pods.get(labels.pod!) ?? new Map<number, { used?: number; limit?: number }>()
    this.#pods.set(labels.pod!, pod)
    for (const { t, value } of samples)
      pod.set(t, { ...pod.get(t), [labels.of === 'limit' ? 'limit' : 'used']: value })
  }

  addScrapes(samples: RangeSeries['samples']): void {
    for (const { t } of samples) this.#sample(t).codes ??= new Map()
  }

  addTraffic({ code, le }: RangeSeries['labels'], samples: RangeSeries['samples']): void {
    for (const { t, value } of samples) {
      const sample = this.#sample(t)
      if (le === undefined) {
        sample.codes ??= new Map()
        sample.codes.set(code ?? '', (sample.codes.get(code ?? '') ?? 0) + value)
        continue
      }
      const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
      const known = sample.buckets.find((bucket) => bucket.le === bound)
      // A Knative route has a service for each revision that takes traffic.
      if (known) known.rate += value
      else sample.buckets.push({ le: bound, rate: value })
    }
  }

  samples(): TargetSample[] {
    for (const pod of this.#pods.values()) {
      for (const [t, { used, limit }] of pod) {
        // `rate` still has a value for a while after a pod has ended; its limit ends with it.
        if (used !== undefined && limit !== undefined) this.#sample(t).pods.push({ used, limit })
      }
    }
    for (const { buckets } of this.#at.values()) buckets.sort((a, b) => a.le - b.le)
    return [...this.#at.values()].sort((a, b) => a.t - b.t)
  }

  #sample(t: number): TargetSample {
    const known = this.#at.get(t)
    if (known) return known
    const sample: TargetSample = { t, pods: [], codes: null, buckets: [] }
    this.#at.set(t, sample)
    return sample
  }
}
