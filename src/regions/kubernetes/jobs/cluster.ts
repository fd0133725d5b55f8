import type { JobObject, PodObject } from './status.ts'

/** The calls to a cluster that job attempts need. An unavailable cluster throws `AppError('unavailable')`. */
export interface JobCluster {
  /** Server-side apply under Longshore's field manager. */
  apply(object: object): Promise<unknown>
  /** Every object with the label selector, in all namespaces. */
  listJobs(selector: string): Promise<JobObject[]>
  listPods(selector: string): Promise<PodObject[]>
  /** Unknown objects are ignored; `background` removes what belongs to the object later. */
  delete(
    kind: 'Job' | 'Secret' | 'Pod',
    namespace: string,
    name: string,
    graceSeconds?: number,
  ): Promise<void>
  /** Lines as `<time> <text>`; with `follow`, until the container ends or the signal aborts. */
  podLog(
    pod: { namespace: string; name: string; container: string },
    options: { since: string | null; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<string>
}
