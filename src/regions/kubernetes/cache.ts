import type { Clock } from '../../clock.ts'
import { isNamespaceOf } from '../../domain/environments/cluster-names.ts'
import type { ClusterConfig } from './api-server.ts'
import { Informer, type Watched } from './informer.ts'
import { jobKind, jobLabels } from './jobs/manifest.ts'
import { type JobObject, type PodObject, podOf } from './jobs/status.ts'
import type { Kind } from './kinds.ts'
import { heldAnnotation, label } from './manifests/workload.ts'
import { servesItself } from './pods.ts'
import type { WorkloadObject, WorkloadPod } from './status.ts'

/** The objects of one environment in the cluster. */
export interface Observed {
  deployment: WorkloadObject | undefined
  /** Knative Service of a function. */
  service: WorkloadObject | undefined
  /** Only for databases. */
  statefulSet: WorkloadObject | undefined
  /** `Cluster` object of CloudNativePG. */
  postgres: WorkloadObject | undefined
  pods: WorkloadPod[]
}

/** An attempt of a job. */
export interface ObservedJob {
  job: JobObject
  pod: PodObject | undefined
}

const collections = {
  deployment: 'apis/apps/v1/deployments',
  service: 'apis/serving.knative.dev/v1/services',
  statefulSet: 'apis/apps/v1/statefulsets',
  postgres: 'apis/postgresql.cnpg.io/v1/clusters',
} as const
type WorkloadKind = keyof typeof collections
const kindOfWorkload: Record<WorkloadKind, Kind> = {
  service: 'KnativeService',
  deployment: 'Deployment',
  statefulSet: 'StatefulSet',
  postgres: 'PostgresCluster',
}
const noWorkloads = { deployment: undefined, service: undefined, statefulSet: undefined, postgres: undefined }

interface ClusterCacheOptions {
  clock: Clock
  server: () => Pick<ClusterConfig, 'getJson' | 'lines'>
  installationId: string
  /** Prefix of this region: another region may have its own in the same cluster. */
  namespacePrefix: string
}

interface CacheListener {
  changed(appEnvId: string): void
  jobsChanged(): void
  /** The cache follows the cluster again, or no longer. */
  stateChanged(): void
}

/**
 * The objects of this installation in the cluster, kept current by watches. Only the fields that are read are kept, so
 * that the memory does not grow with fields that others write.
 */
export class ClusterCache {
  readonly #options: ClusterCacheOptions
  readonly #workloads = new Map<WorkloadKind, Informer<WorkloadObject>>()
  readonly #pods: Informer<WorkloadPod>
  readonly #jobs: Informer<JobObject>
  readonly #environments = new Map<string, Omit<Observed, 'pods'> & { pods: Map<string, WorkloadPod> }>()
  /** By the name of the Job and the id of the pod: Kubernetes may make a second one. */
  readonly #podsOfJobs = new Map<string, Map<string, WorkloadPod>>()
  #listener: CacheListener = { changed() {}, jobsChanged() {}, stateChanged() {} }

  constructor(options: ClusterCacheOptions) {
    this.#options = options
    this.#pods = this.#informer<WorkloadPod>('api/v1/pods', partsOfPod, (now, before) => {
      this.#takePod(now, before)
    })
    this.#jobs = this.#informer<JobObject>('apis/batch/v1/jobs', partsOfJob, () => {
      this.#listener.jobsChanged()
    })
  }

  start(listener: CacheListener): void {
    this.#listener = listener
    this.follow('deployment')
    this.follow('statefulSet')
    this.#pods.start()
    this.#jobs.start()
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#workloads.values(), this.#pods, this.#jobs].map((one) => one.stop()))
  }

  /** From now on for a kind that an extension brings; may be repeated. */
  follow(kind: WorkloadKind): void {
    if (this.#workloads.has(kind)) return
    const informer = this.#informer<WorkloadObject>(collections[kind], partsOfWorkload, (now, before) => {
      this.#takeWorkload(kind, now, before)
    })
    this.#workloads.set(kind, informer)
    informer.start()
  }

  /** Null while the cache follows the cluster; otherwise why it may be old. */
  get problem(): unknown {
    for (const { problem } of [...this.#workloads.values(), this.#pods, this.#jobs])
      if (problem !== null) return problem
    return null
  }

  get environmentIds(): string[] {
    return [...this.#environments.keys()]
  }

  /** Those that attempts of jobs belong to. */
  get jobEnvironmentIds(): string[] {
    return [...new Set([...this.#jobs.objects].map(environmentOf))]
  }

  observed(appEnvId: string): Observed | undefined {
    const found = this.#environments.get(appEnvId)
    return found && { ...found, pods: [...found.pods.values()] }
  }

  *pods(): Iterable<WorkloadPod> {
    for (const { pods } of this.#environments.values()) yield* pods.values()
  }

  jobs(): ObservedJob[] {
    return [...this.#jobs.objects].map((job) => {
      const pods = this.#podsOfJobs.get(job.metadata.name)?.values() ?? []
      return { job, pod: podOf(job, [...pods]) }
    })
  }

  #informer<T extends Watched>(
    path: string,
    keep: (object: T) => T,
    changed: (now: T | null, before: T | null) => void,
  ): Informer<T> {
    const { clock, server, installationId, namespacePrefix } = this.#options
    const labelSelector = `${label.installation}=${installationId},${label.environment}`
    const stateChanged = () => this.#listener.stateChanged()
    const accepts = ({ metadata }: T) => isNamespaceOf(namespacePrefix, metadata.namespace ?? '')
    return new Informer<T>({ clock, server, path, labelSelector, accepts, keep, changed, stateChanged })
  }

  #takeWorkload(kind: WorkloadKind, now: WorkloadObject | null, before: WorkloadObject | null): void {
    const appEnvId = environmentOf(now ?? before)
    this.#at(appEnvId)[kind] = now ?? undefined
    this.#dropEmpty(appEnvId)
    this.#listener.changed(appEnvId)
  }

  #takePod(now: WorkloadPod | null, before: WorkloadPod | null): void {
    const { metadata } = (now ?? before)!
    const { labels = {} } = metadata
    if (labels[jobLabels.kind] === jobKind) {
      this.#takeJobPod(labels[jobLabels.name] ?? '', metadata.uid, now)
      this.#listener.jobsChanged()
      return
    }
    const appEnvId = environmentOf(now ?? before)
    if (!servesItself((now ?? before)!)) return
    const { pods } = this.#at(appEnvId)
    if (now) pods.set(metadata.name, now)
    else pods.delete(metadata.name)
    this.#dropEmpty(appEnvId)
    this.#listener.changed(appEnvId)
  }

  #takeJobPod(jobName: string, uid: string, now: WorkloadPod | null): void {
    const pods = this.#podsOfJobs.get(jobName) ?? new Map<string, WorkloadPod>()
    if (now) pods.set(uid, now)
    else pods.delete(uid)
    if (pods.size > 0) this.#podsOfJobs.set(jobName, pods)
    else this.#podsOfJobs.delete(jobName)
  }

  #at(appEnvId: string) {
    const known = this.#environments.get(appEnvId)
    if (known) return known
    const one = { ...noWorkloads, pods: new Map<string, WorkloadPod>() }
    this.#environments.set(appEnvId, one)
    return one
  }

  #dropEmpty(appEnvId: string): void {
    const { pods, ...workloads } = this.#at(appEnvId)
    if (pods.size === 0 && Object.values(workloads).every((one) => one === undefined))
      this.#environments.delete(appEnvId)
  }
}

/** Each with its kind. */
export function workloadsIn(observed: Observed | undefined): [kind: Kind, object: WorkloadObject][] {
  if (!observed) return []
  return Object.entries(kindOfWorkload).flatMap(([name, kind]) => {
    const found = observed[name as WorkloadKind]
    return found ? [[kind, found] as [Kind, WorkloadObject]] : []
  })
}

export function environmentOf(object: { metadata: { labels?: Record<string, string> } } | null): string {
  return object?.metadata.labels?.[label.environment] ?? ''
}

type Identified = Watched & { metadata: WorkloadPod['metadata'] & { generation?: number } }

function partsOfMetadata({ metadata }: Identified) {
  const { name, namespace, uid, generation, labels, resourceVersion, creationTimestamp, deletionTimestamp } =
    metadata
  return { name, namespace, uid, generation, labels, resourceVersion, creationTimestamp, deletionTimestamp }
}

/** The part of a watched object that is kept in memory. */
export function partsOfWorkload(object: WorkloadObject): WorkloadObject {
  const { replicas, template } = object.spec ?? {}
  const { labels, annotations } = template?.metadata ?? {}
  const held = annotations?.[heldAnnotation]
  const kept = held === undefined ? { labels } : { labels, annotations: { [heldAnnotation]: held } }
  const spec = { replicas, template: { metadata: kept } }
  return { metadata: partsOfMetadata(object as Identified), spec, status: object.status } as WorkloadObject
}

function partsOfPod(object: WorkloadPod): WorkloadPod {
  const { phase, reason, conditions, containerStatuses } = object.status ?? {}
  const { nodeName, schedulingGates } = object.spec ?? {}
  const spec = { nodeName, schedulingGates }
  const status = { phase, reason, conditions, containerStatuses }
  return { metadata: partsOfMetadata(object as Identified), spec, status } as WorkloadPod
}

function partsOfJob(object: JobObject): JobObject {
  const { annotations } = object.metadata
  const metadata = { ...partsOfMetadata(object as Identified), annotations }
  return { metadata, status: object.status } as JobObject
}
