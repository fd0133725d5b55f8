import type { FunctionConfig } from '../contract/function-config.ts'

export type ScalingSettings = Pick<
  FunctionConfig,
  'containerConcurrency' | 'idleTimeoutSeconds' | 'minScale' | 'maxScale'
>

/** `need` containers were needed until `atMs`. */
interface Peak {
  need: number
  atMs: number
}

/** What the rule remembers of one function between two decisions. Values only: safe to copy and to compare. */
export interface ScalingState {
  desired: number
  /** Needs of the stable window that no later need exceeds: falling in `need`, rising in `atMs`. */
  peaks: readonly Peak[]
  /** When a request was last there, or a container came up unasked; null once idle. */
  lastActiveMs: number | null
  /** Containers that took requests at the last decision. */
  ready: number
}

export interface ScalingInput {
  /** Monotonic milliseconds. */
  nowMs: number
  /** Requests at containers now. */
  inFlight: number
  /** Requests waiting for a slot now. */
  queued: number
  /** The most requests (in flight and queued) at one moment since the last decision; at least the sum of both. */
  peak: number
  /** When a request last arrived or ended; null when none ever did. */
  lastRequestMs: number | null
  /** Containers that take requests now. */
  ready: number
}

/** Utilisation of a container's slots above which one more is asked for. */
const targetUtilisation = 0.75
/** Stands in for `containerConcurrency` 0: no limit is enforced, but load still spreads from here on. */
const softConcurrency = 100
/** How long demand must stay lower before containers go (Knative's stable window). */
export const stableWindowSeconds = 60

export const initialScalingState: ScalingState = { desired: 0, peaks: [], lastActiveMs: null, ready: 0 }

/**
 * The most concurrent requests that `containers` containers serve without asking for one more (F3). At least one
 * slot is still free when the next is asked for, unless a container has so few slots (1, or 2 with a single
 * container) that this would keep a spare container running beside every lone request.
 */
export function comfortableConcurrency(containers: number, containerConcurrency: number): number {
  const slots = containerConcurrency === 0 ? softConcurrency : containerConcurrency
  const spared = Math.min(Math.floor(targetUtilisation * slots * containers), slots * containers - 2)
  return Math.max(containers, spared)
}

/** The fewest containers that serve so many concurrent requests comfortably, at most `maxScale` (F2, F3). */
export function containersNeeded(
  concurrency: number,
  settings: Pick<ScalingSettings, 'containerConcurrency' | 'maxScale'>,
): number {
  if (concurrency <= 0) return 0
  const slots = settings.containerConcurrency === 0 ? softConcurrency : settings.containerConcurrency
  let needed = Math.ceil(concurrency / Math.max(1, targetUtilisation * slots))
  while (
    needed < settings.maxScale &&
    comfortableConcurrency(needed, settings.containerConcurrency) < concurrency
  ) {
    needed++
  }
  return Math.min(needed, settings.maxScale)
}

/**
 * How many containers a function should run now. Up at once: a slot that is about to run out cannot wait for an
 * average. Down only when the need stayed lower for the stable window, so a load that comes and goes within it
 * never makes containers come and go. To `minScale` when no request was there for `idleTimeoutSeconds` (F1, F11).
 * `clockScale` divides both times.
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
  // Containers found running without a request (a first deployment, a gateway started anew) count as needed.
  const adopted = state.lastActiveMs === null && concurrency === 0 ? input.ready : 0
  const windowMs = (stableWindowSeconds * 1000) / clockScale
  const peaks = withNeed(state.peaks, Math.max(need, adopted, 1), input.nowMs, input.nowMs - windowMs)
  const wanted = Math.min(peaks[0]?.need ?? 1, settings.maxScale)
  return { desired: Math.max(wanted, settings.minScale), peaks, lastActiveMs, ready: input.ready }
}

/**
 * The state after a start failed and nobody is served: no past demand keeps the platform starting a container
 * that cannot start; the next request asks anew.
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
