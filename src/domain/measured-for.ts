import { isIngressMetric, type Metric } from '../contract/metrics.ts'
import { AppError } from '../errors.ts'

/** Which metrics exist for whom: functions have no CPU and memory (F9), databases and jobs no ingress. */
export function checkMetricMeasured(
  metric: Metric,
  app: { isFunction: boolean; isDatabase: boolean; isJob: boolean },
): void {
  if (app.isFunction && !isIngressMetric(metric)) {
    throw new AppError('invalid', `${metric} is not collected for functions`, {
      details:
        'CPU and memory of functions are not measured. Use an ingress_ metric such as ingress_p95_latency, ingress_5xx_percent or ingress_request_rate.',
      rule: 'F9',
    })
  }
  if ((app.isDatabase || app.isJob) && isIngressMetric(metric)) {
    const kind = app.isDatabase ? 'database environments' : 'jobs'
    throw new AppError('invalid', `${metric} is unavailable for ${kind}`, {
      details: 'They answer no HTTP requests. Use a cpu_ or memory_ metric.',
    })
  }
}
