import { type EngineContainer, EngineFailure } from '../../../engines/engine.ts'
import { AppError } from '../../../errors.ts'
import { cannotCreate, createAdvice } from '../status.ts'
import { chosenPod, jobLabels } from './manifest.ts'

/** The fields of a Job that are read. */
export interface JobObject {
  metadata: {
    name: string
    namespace: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
  }
  status?: { conditions?: { type: string; status: string; reason?: string; message?: string }[] }
}

/** The fields of the pod of a Job that are read. */
export interface PodObject {
  metadata: { name: string; namespace: string; labels?: Record<string, string>; creationTimestamp?: string }
  spec?: { nodeName?: string; schedulingGates?: { name: string }[] }
  status?: {
    phase?: string
    reason?: string
    message?: string
    conditions?: { type: string; status: string; reason?: string; message?: string }[]
    containerStatuses?: {
      state?: {
        waiting?: { reason?: string; message?: string }
        running?: { startedAt?: string }
        terminated?: { exitCode: number; reason?: string; startedAt?: string; finishedAt?: string }
      }
    }[]
  }
}

/** The pod of an attempt: the one that was chosen to start, or else the one to choose, which is the oldest. */
export function podOf(job: JobObject, pods: readonly PodObject[]): PodObject | undefined {
  const chosen = job.metadata.annotations?.[chosenPod]
  if (chosen !== undefined) return pods.find(({ metadata }) => metadata.name === chosen)
  const order = ({ metadata }: PodObject) => `${metadata.creationTimestamp} ${metadata.name}`
  return pods.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))[0]
}

export function isGated({ spec }: PodObject): boolean {
  return (spec?.schedulingGates ?? []).length > 0
}

/**
 * The container of an attempt. Where the end of its container is not known, as when its node or its pod is gone, it has
 * exited with neither code nor time.
 */
export function containerOf(job: JobObject, pod: PodObject | undefined): EngineContainer {
  const { labels = {}, annotations = {}, name } = job.metadata
  const state = pod?.status?.containerStatuses?.[0]?.state
  const ended = state?.terminated
  const startedAt = instant(ended?.startedAt ?? state?.running?.startedAt)
  const isGone = pod === undefined && chosenPod in annotations
  const isOver = ended !== undefined || isGone || conditionOf(job, 'Failed') || conditionOf(job, 'Complete')
  return {
    name,
    podId: labels[jobLabels.attempt] ?? '',
    appEnvId: labels[jobLabels.environment] ?? '',
    state: isOver ? 'exited' : state?.running ? 'running' : 'created',
    startedAt,
    finishedAt: instant(ended?.finishedAt),
    exitCode: ended?.exitCode ?? null,
    outOfMemory: ended?.reason === 'OOMKilled',
    address: null,
    nodeName: pod?.spec?.nodeName ?? '',
  }
}

/**
 * Why a container does not start: `EngineFailure` if it never will, `AppError('unavailable')` if it waits for the
 * cluster, null if it is on its way.
 */
export function startProblem(job: JobObject, pod: PodObject | undefined): EngineFailure | AppError | null {
  const waiting = pod?.status?.containerStatuses?.[0]?.state?.waiting
  const message = waiting?.message ?? ''
  switch (waiting?.reason) {
    case 'ImagePullBackOff':
    case 'InvalidImageName':
    case 'ErrImageNeverPull':
      return new EngineFailure(
        'image pull',
        `The cluster cannot pull the image: ${message || waiting.reason}. Check its name and tag, and that the cluster can reach its registry.`,
      )
  }
  if (cannotCreate(waiting?.reason, message))
    return new EngineFailure(
      'bad-command',
      `The cluster cannot create the container: ${createAdvice(message)}`,
    )
  if (pod?.status?.phase === 'Failed')
    return new EngineFailure(
      'exited',
      `A node of the cluster rejected the container: ${pod.status.message ?? pod.status.reason ?? ''}`,
    )
  const scheduled = pod?.status?.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False' && scheduled.reason !== 'SchedulingGated')
    return new AppError('unavailable', 'No node of the cluster has room for the container', {
      details: scheduled.message ?? 'The operator adds a node, or frees one.',
    })
  const failed = job.status?.conditions?.find(
    ({ type, status }) => type === 'FailureTarget' && status === 'True',
  )
  return failed ? new EngineFailure('exited', `The cluster ended the job: ${failed.message ?? ''}`) : null
}

function conditionOf({ status }: JobObject, type: string): boolean {
  return (
    status?.conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false
  )
}

/** Kubernetes writes whole seconds; the platform's times have milliseconds. */
function instant(text: string | undefined): string | null {
  return text === undefined ? null : new Date(text).toISOString()
}
