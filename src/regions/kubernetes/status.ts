import type { FailureReason } from '../../engines/engine.ts'
import { containerName } from './manifests/workload.ts'

interface Condition {
  type: string
  status: string
  reason?: string
  message?: string
  /** ISO 8601. */
  lastTransitionTime?: string
}

/** The fields of a Deployment or a Knative Service that are read. */
export interface WorkloadObject {
  metadata: {
    name: string
    namespace: string
    uid: string
    generation?: number
    labels?: Record<string, string>
  }
  spec?: {
    replicas?: number
    template?: { metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> } }
  }
  status?: {
    observedGeneration?: number
    replicas?: number
    updatedReplicas?: number
    availableReplicas?: number
    conditions?: Condition[]
    latestCreatedRevisionName?: string
    latestReadyRevisionName?: string
  }
}

interface ContainerStatus {
  name: string
  ready: boolean
  restartCount: number
  state?: ContainerState
  lastState?: ContainerState
}

interface ContainerState {
  waiting?: { reason?: string; message?: string }
  running?: { startedAt?: string }
  terminated?: Terminated
}

interface Terminated {
  exitCode: number
  reason?: string
  message?: string
  startedAt?: string
  finishedAt?: string
}

/** The fields of a pod that are read. */
export interface WorkloadPod {
  metadata: {
    name: string
    namespace: string
    uid: string
    creationTimestamp?: string
    deletionTimestamp?: string
    labels?: Record<string, string>
  }
  spec?: { nodeName?: string; schedulingGates?: { name: string }[] }
  status?: {
    phase?: string
    reason?: string
    conditions?: Condition[]
    containerStatuses?: ContainerStatus[]
  }
}

/**
 * A pod that was evicted or that its node rejected: it never runs again. Its object stays in the cluster beside the one
 * of its replacement, for days if need be. One that is being deleted ends in the same phases, and is gone soon.
 */
export function hasEnded({ metadata, status }: WorkloadPod): boolean {
  return !metadata.deletionTimestamp && (status?.phase === 'Failed' || status?.phase === 'Succeeded')
}

interface Failure {
  reason: FailureReason
  message: string
}

/** `ready`: the version serves; `failed`: it will not start, and the version before keeps serving. */
export type RolloutState = { is: 'progressing' } | { is: 'ready' } | ({ is: 'failed' } & Failure)

/** Restarts of a container after which its version counts as failed. */
const mostRestarts = 2

/** The state of the version that a Deployment was last given. `pods` are those of this version. */
export function appState(deployment: WorkloadObject | undefined, pods: readonly WorkloadPod[]): RolloutState {
  const problem = podProblem(pods)
  if (problem) return { is: 'failed', ...problem }
  const { metadata, spec, status } = deployment ?? {}
  const conditions = status?.conditions ?? []
  const late = conditions.find(
    ({ type, reason }) => type === 'Progressing' && reason === 'ProgressDeadlineExceeded',
  )
  if (late) return { is: 'failed', ...notReady(pods, conditions) }
  const desired = spec?.replicas ?? 1
  const isSeen = (status?.observedGeneration ?? 0) >= (metadata?.generation ?? 1)
  const updated = status?.updatedReplicas ?? 0
  const isDone =
    updated >= desired && status?.replicas === updated && (status?.availableReplicas ?? 0) >= desired
  return deployment && isSeen && (isDone || desired === 0) ? { is: 'ready' } : { is: 'progressing' }
}

/** Knative calls a new revision failed for a moment while it is still being deployed. */
const passingFailureMs = 20_000

/** The state of the newest revision of a Knative Service at `nowMs`. `pods` are those of this version. */
export function functionState(
  service: WorkloadObject | undefined,
  pods: readonly WorkloadPod[],
  nowMs: number,
): RolloutState {
  const problem = podProblem(pods)
  if (problem) return { is: 'failed', ...problem }
  const { metadata, status } = service ?? {}
  if (!status || (status.observedGeneration ?? 0) < (metadata?.generation ?? 1)) return { is: 'progressing' }
  const condition = (type: string) => status.conditions?.find((one) => one.type === type)
  const isNewest = status.latestCreatedRevisionName === status.latestReadyRevisionName
  if (condition('Ready')?.status === 'True' && isNewest) return { is: 'ready' }
  const made = condition('ConfigurationsReady')
  if (made?.status !== 'False') return { is: 'progressing' }
  const sinceMs = Date.parse(made.lastTransitionTime ?? '')
  if (nowMs - sinceMs < passingFailureMs) return { is: 'progressing' }
  const containers = pods.flatMap((pod) => pod.status?.containerStatuses ?? [])
  const ended = containers
    .filter(({ name }) => name === containerName)
    .map(endOf)
    .find(Boolean)
  if (ended) return { is: 'failed', ...exitOf(ended) }
  const isImage = /image|digest|manifest|pull/i.test(made.message ?? '')
  const message = made.message ?? made.reason ?? 'Knative gives no reason.'
  return isImage
    ? { is: 'failed', ...imagePull(message) }
    : { is: 'failed', reason: 'start-timeout', message: `The container did not become ready: ${message}` }
}

/** Why a pod of a version will not start, in the words of a machine region; null while it may. */
export function podProblem(pods: readonly WorkloadPod[]): Failure | null {
  for (const { status } of pods) {
    for (const container of status?.containerStatuses ?? []) {
      const problem = containerProblem(container)
      if (problem) return problem
    }
  }
  return null
}

function containerProblem(container: ContainerStatus): Failure | null {
  const { reason = '', message = '' } = container.state?.waiting ?? {}
  if (reason === 'ImagePullBackOff' || reason === 'InvalidImageName') return imagePull(message || reason)
  if (cannotCreate(reason, message))
    return {
      reason: 'bad-command',
      message: `The cluster cannot create the container: ${createAdvice(message)}`,
    }
  const ended = endOf(container)
  return ended && container.restartCount >= mostRestarts ? exitOf(ended) : null
}

function endOf({ state, lastState }: ContainerStatus): Terminated | undefined {
  return state?.terminated ?? lastState?.terminated
}

function exitOf(ended: Terminated): Failure {
  if (ended.reason === 'OOMKilled')
    return {
      reason: 'out-of-memory',
      message:
        'The container took more memory than its limit and was ended. Raise zClouds, or use less memory.',
    }
  if (ended.reason === 'StartError' || ended.reason === 'ContainerCannotRun')
    return { reason: 'bad-command', message: `The container cannot start: ${ended.message ?? ended.reason}` }
  return {
    reason: 'exits-at-once',
    message: `The container exits with code ${ended.exitCode} soon after its start. Read its log, fix the cause and deploy again.`,
  }
}

/**
 * Whether the cluster will never create a container of this image and settings. A node that waits in vain for a Secret
 * or for its runtime reports the same reasons, and succeeds at one of its next tries.
 */
export function cannotCreate(reason: string | undefined, message: string): boolean {
  const isRefused = reason === 'CreateContainerConfigError' || reason === 'CreateContainerError'
  return isRefused && !/failed to sync|timed out|deadline exceeded|failed to reserve/i.test(message)
}

/** The message of a kubelet, with the remedy if there is a known one. */
export function createAdvice(message: string): string {
  if (!message.includes('runAsNonRoot')) return message
  return `${message}. This region takes only images that run as another user than root: name its number with USER in the Dockerfile.`
}

export function notReady(pods: readonly WorkloadPod[], conditions: readonly Condition[]): Failure {
  const refused = conditions.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True')
  const unplaced = pods
    .flatMap(({ status }) => status?.conditions ?? [])
    .find(({ type, status }) => type === 'PodScheduled' && status === 'False')
  const why = refused?.message ?? unplaced?.message
  if (why) return { reason: 'timeout', message: `The cluster has no place for the container: ${why}` }
  const [waiting] = pods.flatMap(({ status }) =>
    (status?.containerStatuses ?? []).flatMap(({ state }) => state?.waiting?.message ?? []),
  )
  if (waiting)
    return { reason: 'timeout', message: `The cluster did not start the container in time: ${waiting}` }
  return {
    reason: 'start-timeout',
    message:
      'The container runs, but its port or health check did not answer in time. It must listen on PORT, on all addresses.',
  }
}

function imagePull(why: string): Failure {
  return {
    reason: 'image pull',
    message: `The cluster cannot pull the image: ${why}. Check its name and tag, and that the cluster can reach its registry.`,
  }
}
