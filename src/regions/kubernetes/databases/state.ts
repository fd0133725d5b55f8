import { notReady, podProblem, type RolloutState, type WorkloadPod } from '../status.ts'

/** Time for a version of a database to become ready, with the pull of its image; as a Deployment has it. */
const deadlineMs = 600_000

/**
 * The state of a version of a database at `nowMs`. `pods` are those of this version; `desired`: how many must be ready.
 */
export function databaseState(
  pods: readonly WorkloadPod[],
  { desired, createdAt, nowMs }: { desired: number; createdAt: string; nowMs: number },
): RolloutState {
  const problem = podProblem(pods)
  if (problem) return { is: 'failed', ...problem }
  const ready = pods.filter(({ status }) => status?.containerStatuses?.some((one) => one.ready))
  if (ready.length >= desired) return { is: 'ready' }
  const sinceMs = Date.parse(pods[0]?.metadata.creationTimestamp ?? createdAt)
  return nowMs - sinceMs < deadlineMs ? { is: 'progressing' } : { is: 'failed', ...notReady(pods, []) }
}
