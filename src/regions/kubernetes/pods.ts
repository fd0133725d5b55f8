import { timestamp } from '../../clock.ts'
import type { PodRecord } from '../../domain/environments/environment.ts'
import type { Db } from '../../store/db.ts'
import { noteContainerCounts } from '../../store/repositories/container-counts.ts'
import { findPod, insertPod, listLivePods, prunePods, savePod } from '../../store/repositories/rollouts.ts'
import type { MeteredContainer } from '../usage-meter.ts'
import { containerName, label } from './manifests/workload.ts'
import { hasEnded, type WorkloadPod } from './status.ts'

const keptPods = 50

/** The id of a pod's record. */
export function podIdOf({ metadata }: WorkloadPod): string {
  return `pod_${metadata.uid}`
}

/**
 * The runs of a pod's container for usage metering: the current one and the one before the last restart. They are named
 * by their start, because successive pods of a database have the same name.
 */
export function runsOfPod(pod: WorkloadPod, nowMs: number): MeteredContainer[] {
  const { state, lastState } = ownContainer(pod) ?? {}
  const lost = lostAt(pod, nowMs)
  const running = state?.running && { startedAt: state.running.startedAt, finishedAt: lost }
  return [lastState?.terminated, state?.terminated, running].flatMap((run) => {
    const startedAt = instant(run?.startedAt)
    if (startedAt === null) return []
    return {
      ...{ name: `${podIdOf(pod)} ${startedAt}`, podId: podIdOf(pod), startedAt },
      appEnvId: pod.metadata.labels?.[label.environment] ?? '',
      state: run === running && lost === null ? ('running' as const) : ('exited' as const),
      finishedAt: instant(run?.finishedAt),
    }
  })
}

/** Far longer than a kubelet takes to report the end of a container. */
const reportMs = 15_000

/**
 * End time of a container on a lost node, which the cluster still reports as running: its eviction, or the latest time of its
 * kill. Null: it may run.
 */
function lostAt({ metadata, status }: WorkloadPod, nowMs: number): string | null {
  const evicted = status?.conditions?.find(
    (one) =>
      one.type === 'DisruptionTarget' && one.status === 'True' && one.reason === 'DeletionByTaintManager',
  )
  const { deletionTimestamp } = metadata
  if (evicted) return evicted.lastTransitionTime ?? deletionTimestamp ?? null
  return deletionTimestamp && Date.parse(deletionTimestamp) + reportMs < nowMs ? deletionTimestamp : null
}

interface Placed {
  appEnvId: string
  region: string
  cpuMillicores: number
  memoryMb: number
}

/** Makes the stored pods of an environment those that the cluster has. Returns the ids of pods seen for the first time. */
export function storePods(
  db: Db,
  { appEnvId, ...placed }: Placed,
  pods: readonly WorkloadPod[],
  nowMs: number,
): Promise<string[]> {
  return db.write(async (tx) => {
    // Those of another region serve until the move here is done.
    const own = (await listLivePods(tx, appEnvId)).filter(({ region }) => region === placed.region)
    const live = new Map(own.map((pod) => [pod.podId, pod]))
    const fresh: string[] = []
    for (const pod of pods.filter((one) => !hasEnded(one))) {
      const podId = podIdOf(pod)
      const before = live.get(podId)
      live.delete(podId)
      if (before) {
        const { ordinal: _, ...rest } = before
        const record = { ...rest, ...observed(pod, nowMs) }
        if (JSON.stringify(record) !== JSON.stringify(before)) await savePod(tx, record)
      } else if (!(await findPod(tx, podId))) {
        await insertPod(tx, newRecord(pod, { appEnvId, ...placed }, nowMs))
        fresh.push(podId)
      }
    }
    for (const before of live.values()) {
      // Where its object is still there, it was evicted.
      const pod = pods.find((one) => podIdOf(one) === before.podId)
      const last = { ...before, ...(pod && observed(pod, nowMs)) }
      await savePod(tx, {
        ...last,
        ...{ desiredState: 'gone', ready: false, finishedAt: timestamp(nowMs) },
        status: pod?.status?.phase === 'Failed' || hasFailed(last) ? 'Failed' : 'Succeeded',
      })
    }
    if (live.size > 0) await prunePods(tx, appEnvId, keptPods)
    await noteContainerCounts(tx, appEnvId, nowMs)
    return fresh
  })
}

/** The exit codes of a program that the cluster ends: by SIGTERM, and by SIGKILL where that was not enough. */
const signalExits = [143, 137]

function hasFailed({ desiredState, lastTermination }: PodRecord): boolean {
  const { exitCode = 0, reason } = lastTermination ?? {}
  if (desiredState === 'end' && reason !== 'OOMKilled' && signalExits.includes(exitCode)) return false
  return exitCode !== 0
}

function newRecord(pod: WorkloadPod, placed: Placed, nowMs: number): PodRecord {
  const { metadata } = pod
  return {
    podId: podIdOf(pod),
    name: metadata.name,
    rolloutId: metadata.labels?.[label.rollout] ?? '',
    contentId: metadata.labels?.[label.content] ?? '',
    createdAt: instant(metadata.creationTimestamp) ?? '',
    finishedAt: null,
    ...placed,
    ...observed(pod, nowMs),
  }
}

function observed(pod: WorkloadPod, nowMs: number) {
  const status = ownContainer(pod)
  const ended = status?.lastState?.terminated ?? status?.state?.terminated
  const isRunning = status?.state?.running !== undefined && lostAt(pod, nowMs) === null
  // On an unreachable node, the container's own status is the last one reported.
  const isUnready = pod.status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'False')
  return {
    desiredState: pod.metadata.deletionTimestamp ? ('end' as const) : ('run' as const),
    status: isRunning ? ('Running' as const) : ('Pending' as const),
    ready: isRunning && isUnready !== true && (status?.ready ?? false),
    restartCount: status?.restartCount ?? 0,
    lastTermination: ended
      ? {
          exitCode: ended.exitCode,
          // Why the cluster ended it, as `Evicted`, before how its program ended.
          reason: pod.status?.reason ?? ended.reason ?? 'Error',
          finishedAt: instant(ended.finishedAt) ?? '',
        }
      : null,
    startedAt: instant(status?.state?.running?.startedAt),
    nodeName: pod.spec?.nodeName ?? '',
    ...(isReplica(pod) ? { ordinal: 1 } : {}),
  }
}

function ownContainer(pod: WorkloadPod) {
  return pod.status?.containerStatuses?.find(({ name }) => name === containerNameIn(pod))
}

const operatorLabels = { cluster: 'cnpg.io/cluster', role: 'cnpg.io/instanceRole', job: 'cnpg.io/jobRole' }

/** The container of the tenant; CloudNativePG has its own name for the container of PostgreSQL. */
export function containerNameIn({ metadata }: WorkloadPod): string {
  return metadata.labels && operatorLabels.cluster in metadata.labels ? 'postgres' : containerName
}

/** Excludes pods that make or copy the data of a database before its own pod starts. */
export function servesItself({ metadata }: WorkloadPod): boolean {
  return !(metadata.labels && operatorLabels.job in metadata.labels)
}

/** A replica of a database, which takes no writes. */
function isReplica({ metadata }: WorkloadPod): boolean {
  return metadata.labels?.[operatorLabels.role] === 'replica'
}

/** Kubernetes writes whole seconds; the platform's times have milliseconds. */
function instant(text: string | null | undefined): string | null {
  return text ? new Date(text).toISOString() : null
}
