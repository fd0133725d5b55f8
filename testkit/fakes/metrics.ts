import { AppError } from '../../src/errors.ts'
import type { MetricPoint, MetricValues, SeriesQuery } from '../../src/metrics/source.ts'

/** Measured values that a test writes down: one sample a call of `add`, kept by environment and metric. */
export class FakeMetrics implements MetricValues {
  readonly periodMs: number
  readonly #points = new Map<string, MetricPoint[]>()
  /** While set, the source cannot be read. */
  isAway = false
  reads = 0

  /** `periodMs` is how often values are measured, in milliseconds. */
  constructor(periodMs = 10_000) {
    this.periodMs = periodMs
  }

  /** A sample of one or several containers. */
  add(appEnvId: string, metric: string, t: number, ...values: number[]): void {
    const key = `${appEnvId} ${metric}`
    const point = {
      t,
      value: values.reduce((sum, value) => sum + value, 0) / values.length,
      min: Math.min(...values),
      max: Math.max(...values),
      last: values.at(-1) as number,
    }
    this.#points.set(key, [...(this.#points.get(key) ?? []), point])
  }

  clear(): void {
    this.#points.clear()
  }

  async series({ appEnvId, metric, fromMs, toMs, stepMs }: SeriesQuery): Promise<MetricPoint[]> {
    this.reads += 1
    if (this.isAway) throw new AppError('unavailable', 'The metric source cannot be read')
    const points = this.#points.get(`${appEnvId} ${metric}`) ?? []
    const steps = new Map<number, MetricPoint[]>()
    for (const point of points) {
      if (point.t <= fromMs || point.t > toMs) continue
      const end = Math.min(toMs, fromMs + Math.ceil((point.t - fromMs) / stepMs) * stepMs)
      steps.set(end, [...(steps.get(end) ?? []), point])
    }
    return [...steps].map(([t, of]) => ({
      t,
      value: of.reduce((sum, { value }) => sum + value, 0) / of.length,
      min: Math.min(...of.map(({ min }) => min)),
      max: Math.max(...of.map(({ max }) => max)),
      last: (of.at(-1) as MetricPoint).last,
    }))
  }
}
