import type { PodRecord } from '../domain/environment.ts'
import type { PlannedPod } from '../domain/rollout-plan.ts'
import type { Address, EngineContainer } from '../engines/engine.ts'

/** What the reconciler knows of a pod right now; the stored record is what it has written down. */
export interface LivePod {
  record: PodRecord
  state: PlannedPod['state']
  address: Address | null
  /** Milliseconds of the monotonic clock at which `state` became `ready`. */
  readyAtMs: number
  drained: boolean
  /** The container's end, once seen. */
  ended: EngineContainer | null
  /** Set while a start is under way. */
  starting: AbortController | null
  removing: boolean
  /** How many of its containers in a row ended early; one that lived starts the count anew. */
  shortLives: number
  /** No restart before this moment of the monotonic clock. */
  startNotBeforeMs: number
}

export function newLivePod(record: PodRecord): LivePod {
  return {
    record,
    state: 'absent',
    address: null,
    readyAtMs: 0,
    drained: false,
    ended: null,
    starting: null,
    removing: false,
    shortLives: 0,
    startNotBeforeMs: 0,
  }
}

/** A restart in place is a container of its own, named after the pod and the attempt. */
export function containerNameOf(record: PodRecord): string {
  return record.restartCount === 0 ? record.name : `${record.name}-r${record.restartCount}`
}

export function plannedPod(pod: LivePod, nowMs: number): PlannedPod {
  const waits = (pod.state === 'exited' || pod.state === 'absent') && nowMs < pod.startNotBeforeMs
  return {
    podId: pod.record.podId,
    rolloutId: pod.record.rolloutId,
    wish: pod.record.wish === 'end' ? 'end' : 'run',
    ordinal: pod.record.ordinal ?? 0,
    state: waits ? 'starting' : pod.state,
    drained: pod.drained,
  }
}

/** How a container ended, in the words of `lastTermination`. */
export function terminationOf(
  container: EngineContainer,
  now: string,
): NonNullable<PodRecord['lastTermination']> {
  const exitCode = container.exitCode ?? -1
  const reason = container.outOfMemory ? 'OOMKilled' : exitCode === 0 ? 'Completed' : 'Error'
  return { exitCode, reason, finishedAt: container.finishedAt ?? now }
}

/** At once after a long life, else 1 s, 2 s, 4 s … up to a minute. */
export function restartDelayMs(failures: number): number {
  return failures <= 0 ? 0 : Math.min(60_000, 1_000 * 2 ** (failures - 1))
}

/** What the usage meter needs to know of its container, which is over or about to be removed. */
export function metered(pod: LivePod, finishedAt: string | null) {
  const { podId, appEnvId, startedAt } = pod.record
  return {
    name: containerNameOf(pod.record),
    podId,
    appEnvId,
    state: 'exited' as const,
    startedAt: pod.ended?.startedAt ?? startedAt,
    finishedAt: pod.ended?.finishedAt ?? finishedAt,
  }
}

/** What the log followers need to know of it. */
export function followed(pod: LivePod) {
  const { appEnvId, name, contentId } = pod.record
  return {
    appEnvId,
    podName: name,
    containerName: containerNameOf(pod.record),
    contentId,
    type: 'RUNTIME' as const,
  }
}
