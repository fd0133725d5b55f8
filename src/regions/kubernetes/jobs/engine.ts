import { type Clock, sleep } from '../../../clock.ts'
import {
  type ContainerSpec,
  type EngineContainer,
  EngineFailure,
  type EngineLogLine,
} from '../../../engines/engine.ts'
import type { ClusterCache, ObservedJob } from '../cache.ts'
import type { ClusterClient } from '../client.ts'
import { podLines } from '../log-lines.ts'
import type { ClusterOptions } from '../manifests/workload.ts'
import { chosenPod, jobKind, jobLabels, jobManifests } from './manifest.ts'
import { containerOf, isGated, type JobObject, type PodObject, podOf, startProblem } from './status.ts'

interface ClusterJobsDeps {
  cluster: ClusterClient
  /** Follows the attempts of this installation. */
  cache: Pick<ClusterCache, 'jobs'>
  clock: Clock
  installationId: string
  podSecurity?: ClusterOptions['podSecurity']
  namespaceOf(accountId: string): string
  claimOf(appEnvId: string, volume: string): string
}

/** How long to wait for the pod of a new Job; if there is none yet, the scheduler calls again. */
const podWithinMs = 2_000
/** Before the second look; it doubles, so that a cluster that is slow is not called often. */
const podPauseMs = 25

/** How long the cache usually lags behind an apply at most; an object still missing then is looked up. */
const lagMs = 10_000

/** Job attempts as `batch/v1` Jobs: the job scheduler's engine for a cluster. */
export class ClusterJobs {
  readonly #deps: ClusterJobsDeps
  /** Applied, and maybe not in the cache yet. */
  readonly #applied = new Map<string, { container: EngineContainer; untilMs: number }>()

  constructor(deps: ClusterJobsDeps) {
    this.#deps = deps
  }

  /** Throws `EngineFailure` for a container that will never start, after removing it. */
  async apply(spec: ContainerSpec): Promise<EngineContainer> {
    const { cluster, installationId, namespaceOf, claimOf, podSecurity } = this.#deps
    const before = (await this.#find(spec.name))[0]
    if (!before) {
      const namespace = namespaceOf(spec.accountId)
      const options = {
        installationId,
        namespace,
        podSecurity,
        claimOf: (volume: string) => claimOf(spec.appEnvId, volume),
      }
      for (const manifest of jobManifests(spec, options)) await cluster.apply(manifest)
    }
    const { job, pod } = (await this.#withPod(spec.name, before)) ?? {}
    if (!job) return notStarted(spec)
    const container = containerOf(job, pod)
    if (pod && isGated(pod) && container.state === 'created') {
      // First, so that no other pod is chosen after this one.
      await cluster.annotate('Job', job.metadata, { [chosenPod]: pod.metadata.name })
      await cluster.openGates(pod.metadata)
    }
    this.#applied.set(spec.name, { container, untilMs: this.#deps.clock.monotonicMs() + lagMs })
    const problem = container.state === 'created' ? startProblem(job, pod) : null
    // It must not start later, when its attempt is over.
    if (problem instanceof EngineFailure) await this.remove(spec.name)
    if (problem) throw problem
    return container
  }

  async stop(name: string, graceSeconds: number): Promise<void> {
    for (const { pod } of await this.#find(name))
      if (pod) await this.#deps.cluster.delete('Pod', pod.metadata.namespace, pod.metadata.name, graceSeconds)
  }

  async remove(name: string): Promise<void> {
    const { cluster } = this.#deps
    this.#applied.delete(name)
    for (const { job } of await this.#find(name)) {
      const { namespace } = job.metadata
      // The Secret last: while the Job is there, this can be repeated.
      await cluster.delete('Secret', namespace, name)
      await cluster.delete('Job', namespace, name)
    }
  }

  /** Every attempt of this installation that the cluster has. */
  async list(): Promise<EngineContainer[]> {
    const { cache, clock } = this.#deps
    const listed = await Promise.all(cache.jobs().map((one) => this.#current(one)))
    for (const { name } of listed) this.#applied.delete(name)
    for (const [name, { untilMs }] of this.#applied)
      if (clock.monotonicMs() > untilMs) await this.#confirm(name)
    return [...listed, ...[...this.#applied.values()].map(({ container }) => container)]
  }

  /** The watch may have stalled: only the API server knows that a Job is gone, and another attempt would run beside it. */
  async #confirm(name: string): Promise<void> {
    const [now] = await this.#find(name)
    const untilMs = this.#deps.clock.monotonicMs() + lagMs
    if (now) this.#applied.set(name, { container: containerOf(now.job, now.pod), untilMs })
    else this.#applied.delete(name)
  }

  /** A Job may be known to be over before the end of its pod is, which has the exit code. */
  async #current({ job, pod }: ObservedJob): Promise<EngineContainer> {
    const container = containerOf(job, pod)
    if (container.state !== 'exited' || container.exitCode !== null) return container
    const [now] = await this.#find(job.metadata.name)
    return now ? containerOf(now.job, now.pod) : container
  }

  async *logs(
    name: string,
    options: { since: string | null; follow: boolean; signal: AbortSignal },
  ): AsyncIterable<EngineLogLine> {
    const [{ pod } = {}] = await this.#find(name)
    if (!pod) return
    const { namespace, name: podName } = pod.metadata
    yield* podLines(this.#deps.cluster, { namespace, name: podName }, options)
  }

  /** The Job, with its pod as soon as there is one. */
  async #withPod(name: string, found?: ObservedJob): Promise<ObservedJob | undefined> {
    const { clock } = this.#deps
    const untilMs = clock.monotonicMs() + podWithinMs
    let now = found ?? (await this.#find(name))[0]
    for (let ms = podPauseMs; now && !now.pod && clock.monotonicMs() < untilMs; ms *= 2) {
      await sleep(clock, ms)
      now = (await this.#find(name))[0]
    }
    return now
  }

  async #find(name: string): Promise<ObservedJob[]> {
    const { cluster, installationId } = this.#deps
    const own = `${jobLabels.installation}=${installationId},${jobLabels.kind}=${jobKind}`
    const selector = `${own},${jobLabels.name}=${name}`
    // Jobs first: a pod that is listed later than its Job is never missing because it was not made yet.
    const jobs = await cluster.list<JobObject>('Job', selector)
    const pods = jobs.length > 0 ? await cluster.list<PodObject>('Pod', selector) : []
    return jobs.map((job) => ({ job, pod: podOf(job, pods) }))
  }
}

function notStarted({ name, podId, appEnvId }: ContainerSpec): EngineContainer {
  const times = { startedAt: null, finishedAt: null, exitCode: null }
  return {
    name,
    podId,
    appEnvId,
    state: 'created',
    ...times,
    outOfMemory: false,
    address: null,
    nodeName: '',
  }
}
