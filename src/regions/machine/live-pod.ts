import type { PodRecord } from '../../domain/environments/environment.ts'
import type { PlannedPod } from '../../domain/environments/plan-steps.ts'
import type { Address, EngineContainer } from '../../engines/engine.ts'
import { containerNameOf } from '../rollouts/container-spec.ts'

/** An observation of a pod that is not stored yet. */
export interface Observation {
  change: Partial<PodRecord>
  /** Why its container failed; this also fails the version being brought in. */
  failure?: { reason: string; message: string }
}

/** The reconciler's current state of a pod. */
export interface LivePod {
  /** As stored, except for `startedAt` and `nodeName`, which are stored with the next change. */
  record: PodRecord
  /** Stored by the next successful pass; null if the record is up to date. */
  unsaved: Observation | null
  state: PlannedPod['state']
  address: Address | null
  /** Monotonic time in milliseconds at which `state` became `ready`. */
  readyAtMs: number
  drained: boolean
  /** Its checks fail: it takes no requests until one passes. */
  unhealthy: PodRecord['unhealthy'] | null
  /** Its last check failed. */
  failing: boolean
  /** Monotonic time in milliseconds at which its last finished check began. */
  checkedAtMs: number
  /** The gateway found that it refuses connections; cleared by a check. */
  suspect: boolean
  /** The final state of the container, once seen. */
  ended: EngineContainer | null
  /** Set while a start is in progress. */
  starting: AbortController | null
  removing: boolean
  /** Number of consecutive containers that ended early; one that lived long resets it. */
  shortLives: number
  /** No restart before this monotonic time. */
  startNotBeforeMs: number
}

export function newLivePod(record: PodRecord): LivePod {
  return {
    record,
    unsaved: null,
    state: 'absent',
    address: null,
    readyAtMs: 0,
    drained: false,
    unhealthy: record.unhealthy ?? null,
    failing: false,
    checkedAtMs: Number.NEGATIVE_INFINITY,
    suspect: false,
    ended: null,
    starting: null,
    removing: false,
    shortLives: 0,
    startNotBeforeMs: 0,
  }
}

/** Adds to the changes of a pod that are still to be stored. */
export function note(pod: LivePod, change: Partial<PodRecord>, failure?: Observation['failure']): void {
  const unsaved = pod.unsaved
  const cause = failure ?? unsaved?.failure
  pod.unsaved = { change: { ...unsaved?.change, ...change }, ...(cause && { failure: cause }) }
}

export function plannedPod(pod: LivePod, nowMs: number): PlannedPod {
  const waits = (pod.state === 'exited' || pod.state === 'absent') && nowMs < pod.startNotBeforeMs
  return {
    podId: pod.record.podId,
    rolloutId: pod.record.rolloutId,
    desiredState: pod.record.desiredState === 'end' ? 'end' : 'run',
    ordinal: pod.record.ordinal ?? 0,
    state: waits ? 'starting' : pod.state,
    drained: pod.drained,
  }
}

/** How a container ended, in the form of `lastTermination`. */
export function terminationOf(
  container: EngineContainer,
  now: string,
): NonNullable<PodRecord['lastTermination']> {
  const exitCode = container.exitCode ?? -1
  const reason = container.outOfMemory ? 'OOMKilled' : exitCode === 0 ? 'Completed' : 'Error'
  return { exitCode, reason, finishedAt: container.finishedAt ?? now }
}

/** Immediately after a long life, otherwise 1 s, 2 s, 4 s … up to a minute. */
export function restartDelayMs(failures: number): number {
  return failures <= 0 ? 0 : Math.min(60_000, 1_000 * 2 ** (failures - 1))
}

/** Input for the usage meter about a container that has ended or is about to be removed. */
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

/** Input for the log followers. */
export function followed(pod: LivePod) {
  const { appEnvId, name, contentId, rolloutId } = pod.record
  return {
    appEnvId,
    podName: name,
    containerName: containerNameOf(pod.record),
    contentId,
    type: 'RUNTIME' as const,
    origin: { rolloutId },
  }
}
