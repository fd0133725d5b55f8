import type { Health } from '../../contract/health.ts'
import type { Environment, PodRecord, Rollout } from './environment.ts'

/** This many exits within this time are a loop. */
const loopExits = 2
const loopMs = 5 * 60_000

interface HealthInput {
  environment: Environment
  isFunction: boolean
  /** The rollout whose containers take requests. */
  serving: Rollout | null
  wanted: Rollout | null
  /** Newest first, ended ones included. */
  pods: readonly PodRecord[]
  nowMs: number
}

/** When the loop began that an exit at `at` belongs to, however many exits ago that is. */
export function loopSince(
  { exits, loopSince: known }: Pick<PodRecord, 'exits' | 'loopSince'>,
  at: string,
): string {
  const before = exits?.at(-1)
  const goesOn = before !== undefined && Date.parse(at) - Date.parse(before) < loopMs
  return goesOn ? (known ?? before) : at
}

type HealthState = Omit<Health, 'logTail' | 'path' | 'failedPercent'>

/** The health of the containers that take requests; null for an environment that is not meant to run. */
export function healthOf({
  environment,
  isFunction,
  serving,
  wanted,
  pods,
  nowMs,
}: HealthInput): HealthState | null {
  if (environment.desiredState !== 'running') return null
  const own = serving ? pods.filter((pod) => pod.rolloutId === serving.rolloutId) : []
  const live = own.filter((pod) => pod.desiredState === 'run')
  const lastExit = lastExitOf(own)
  const restarts = own.reduce((sum, pod) => sum + Math.max(pod.restartCount, pod.exits?.length ?? 0), 0)
  const state = (verdict: Health['verdict'], since: string): HealthState => ({
    verdict,
    since,
    restarts,
    lastExit,
  })

  const exits = own.flatMap((pod) => recentExits(pod, nowMs))
  if (lastExit && exits.length >= loopExits) {
    const since = exits.map(({ loopSince }) => loopSince).sort()[0]!
    return state(lastExit.reason === 'OOMKilled' ? 'OOM_LOOP' : 'CRASH_LOOP', since)
  }
  // A function's container that never became ready is gone, so the newest one counts.
  const problem = (live.length > 0 ? live : own.slice(0, 1)).map((pod) => pod.unhealthy).find((one) => one)
  const elsewhere = pods.find((pod) => isStarting(pod, serving ?? wanted) && pod.listensElsewhere)
  if (problem)
    return state(problem.reason === 'failing-checks' ? 'FAILING_CHECKS' : 'UNREACHABLE', problem.since)
  if (elsewhere?.listensElsewhere) return state('UNREACHABLE', elsewhere.listensElsewhere.since)
  const ready = live.filter((pod) => pod.ready).map((pod) => pod.readyAt ?? pod.createdAt)
  const isTried = serving === null || serving === wanted
  const begun = (wanted ?? serving)?.createdAt ?? environment.updatedAt
  if (isTried) return state('STARTING', begun)
  if (ready.length > 0) return state('HEALTHY', ready.sort()[0] ?? begun)
  if (isFunction && live.length === 0)
    return state('IDLE', own[0]?.finishedAt ?? serving.deployedAt ?? serving.createdAt)
  return state('STARTING', lastExit?.at ?? live[0]?.createdAt ?? begun)
}

/** Whether containers of a rollout keep exiting. */
export function isLooping(pods: readonly PodRecord[], rolloutId: string, nowMs: number): boolean {
  const own = pods.filter((pod) => pod.rolloutId === rolloutId)
  return own.flatMap((pod) => recentExits(pod, nowMs)).length >= loopExits
}

function isStarting(pod: PodRecord, rollout: Rollout | null): boolean {
  return pod.desiredState === 'run' && !pod.ready && pod.rolloutId === rollout?.rolloutId
}

function recentExits(pod: PodRecord, nowMs: number): { loopSince: string }[] {
  const recent = (pod.exits ?? []).filter((at) => nowMs - Date.parse(at) < loopMs)
  return recent.map((at) => ({ loopSince: pod.loopSince ?? at }))
}

function lastExitOf(pods: readonly PodRecord[]): Health['lastExit'] {
  const last = pods
    .map((pod) => pod.lastTermination)
    .filter((one) => one !== null)
    .sort((a, b) => (a.finishedAt < b.finishedAt ? 1 : -1))[0]
  return last ? { code: last.exitCode, reason: last.reason, at: last.finishedAt } : null
}
