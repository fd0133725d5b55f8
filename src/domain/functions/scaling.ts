import type { FunctionConfig } from '../../contract/function-config.ts'

export type ScalingSettings = Pick<
  FunctionConfig,
  'containerConcurrency' | 'idleTimeoutSeconds' | 'minScale' | 'maxScale'
>

/** `need` containers were needed until `atMs`. */
interface Peak {
  need: number
  atMs: number
}

/** State of the rule for one function between two decisions. Plain values, so it can be copied and compared. */
export interface ScalingState {
  desired: number
  /** Needs in the stable window that no later need exceeds: descending by `need`, ascending by `atMs`. */
  peaks: readonly Peak[]
  /** When a request was last present, or a container started without a request; null once idle. */
  lastActiveMs: number | null
  /** Number of ready containers at the last decision. */
  ready: number
}

interface ScalingInput {
  /** Monotonic milliseconds. */
  nowMs: number
  /** Requests in containers now. */
  inFlight: number
  /** Requests waiting for a slot now. */
  queued: number
  /** Maximum of in-flight plus queued requests since the last decision; at least the current sum. */
  peak: number
  /** When a request last arrived or ended; null before the first one. */
  lastRequestMs: number | null
  /** Number of ready containers now. */
  ready: number
}

/** Utilization of a container's slots above which another container is requested. */
const targetUtilization = 0.75
/** Replaces `containerConcurrency` 0: no limit is enforced, but load is distributed from this value on. */
const softConcurrency = 100
/** How long demand must stay lower before scaling down (Knative's stable window). */
export const stableWindowSeconds = 60

export const initialScalingState: ScalingState = { desired: 0, peaks: [], lastActiveMs: null, ready: 0 }

/**
 * The highest concurrency that `containers` containers serve without another one (F3). At least one slot is still
 * free when the next container is requested, unless a container has so few slots (1, or 2 with a single container)
 * that this would keep an idle container next to every single request.
 */
export function comfortableConcurrency(containers: number, containerConcurrency: number): number {
  const slots = containerConcurrency === 0 ? softConcurrency : containerConcurrency
  const spared = Math.min(Math.floor(targetUtilization * slots * containers), slots * containers - 2)
  return Math.max(containers, spared)
}

/** The fewest containers that serve this concurrency comfortably, at most `maxScale` (F2, F3). */
export function containersNeeded(
  concurrency: number,
  settings: Pick<ScalingSettings, 'containerConcurrency' | 'maxScale'>,
): number {
  if (concurrency <= 0) return 0
  const slots = settings.containerConcurrency === 0 ? softConcurrency : settings.containerConcurrency
  let needed = Math.ceil(concurrency / Math.max(1, targetUtilization * slots))
  while (
    needed < settings.maxScale &&
    comfortableConcurrency(needed, settings.containerConcurrency) < concurrency
  ) {
    needed++
  }
  return Math.min(needed, settings.maxScale)
}

/**
 * Scales up at once, because running out of slots cannot wait for an average, and down only if the need
 * stayed lower for the whole stable window, so that fluctuating load restarts no containers. Goes to
 * `minScale` after `idleTimeoutSeconds` without a request (F1, F11). `clockScale` divides both times.
 */
export function decideScale(
  state: ScalingState,
  input: ScalingInput,
  settings: ScalingSettings,
  clockScale = 1,
): ScalingState {
  const concurrency = input.inFlight + input.queued
  const lastActiveMs = latestActivity(state, input, concurrency)
  const idleMs = (settings.idleTimeoutSeconds * 1000) / clockScale
  if (concurrency === 0 && (lastActiveMs === null || input.nowMs - lastActiveMs >= idleMs)) {
    return { desired: settings.minScale, peaks: [], lastActiveMs: null, ready: input.ready }
  }
  const need = containersNeeded(Math.max(concurrency, input.peak), settings)
  // Containers already running without a request (first deployment, restarted gateway) count as needed.
  const adopted = state.lastActiveMs === null && concurrency === 0 ? input.ready : 0
  const windowMs = (stableWindowSeconds * 1000) / clockScale
  const peaks = withNeed(state.peaks, Math.max(need, adopted, 1), input.nowMs, input.nowMs - windowMs)
  const wanted = Math.min(peaks[0]?.need ?? 1, settings.maxScale)
  return { desired: Math.max(wanted, settings.minScale), peaks, lastActiveMs, ready: input.ready }
}

/**
 * The state after a failed start with no ready container: past demand must not repeat a start that fails; the next
 * request triggers another one.
 */
export function withoutDemand(settings: Pick<ScalingSettings, 'minScale'>): ScalingState {
  return { desired: settings.minScale, peaks: [], lastActiveMs: null, ready: 0 }
}

function latestActivity(state: ScalingState, input: ScalingInput, concurrency: number): number | null {
  if (concurrency > 0) return input.nowMs
  if (state.lastActiveMs !== null) return Math.max(state.lastActiveMs, input.lastRequestMs ?? 0)
  if (input.peak > 0) return input.lastRequestMs ?? input.nowMs
  return input.ready > state.ready ? input.nowMs : null
}

function withNeed(peaks: readonly Peak[], need: number, nowMs: number, sinceMs: number): Peak[] {
  const kept = peaks.filter((peak) => peak.need > need && peak.atMs > sinceMs)
  kept.push({ need, atMs: nowMs })
  return kept
}
