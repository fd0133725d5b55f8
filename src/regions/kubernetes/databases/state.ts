import { notReady, podProblem, type RolloutState, type WorkloadPod } from '../status.ts'

/** Time for a version of a database to become ready, with the pull of its image; as a Deployment has it. */
const deadlineMs = 600_000

/**
 * The state at `nowMs` of a version of a database that was applied at `sinceMs`. `pods` are those of this version;
 * `desired`: how many must be ready.
 */
export function databaseState(
  pods: readonly WorkloadPod[],
  { desired, sinceMs, nowMs }: { desired: number; sinceMs: number; nowMs: number },
): RolloutState {
  const problem = podProblem(pods)
  if (problem) return { is: 'failed', ...problem }
  const ready = pods.filter(({ status }) => status?.containerStatuses?.some((one) => one.ready))
  if (ready.length >= desired) return { is: 'ready' }
  const { creationTimestamp } = pods[0]?.metadata ?? {}
  const beganMs = creationTimestamp === undefined ? sinceMs : Date.parse(creationTimestamp)
  return nowMs - beganMs < deadlineMs ? { is: 'progressing' } : { is: 'failed', ...notReady(pods, []) }
}
