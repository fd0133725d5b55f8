import type { Autoscaling } from '../../contract/app-envs.ts'

/** The total usage of an app's containers at one time; null if it was not measured. */
export interface UsageSample {
  /** Milliseconds since the epoch. */
  atMs: number
  cpuMillicores: number | null
  memoryMb: number | null
}

interface AppScalingInput {
  nowMs: number
  autoscaling: Autoscaling
  /** The current number of desired containers. */
  containers: number
  /** Limits of one container. */
  limits: { cpuMillicores: number; memoryMb: number }
  /** Oldest first. */
  samples: readonly UsageSample[]
  /** Time between two samples. Data older than a few periods is considered missing. */
  periodMs: number
  /** Windows are divided by this factor. */
  clockScale: number
}

interface AppScalingDecision {
  containers: number
  /** For people; null if nothing changes. */
  reason: string | null
}

/** A demand at most this share above the current count causes no change, because usage always fluctuates. */
const tolerance = 0.1
/** After this many missing samples in a row, the scale is kept. */
const missingSamples = 3

/**
 * Demand is the total usage in containers at target utilization, so a change of scale does not feed back.
 * Scales up if every sample of the up window requires it, and down to the highest demand of the down window;
 * keeps the scale without data and until the down window is fully measured.
 */
export function decideAppScale(input: AppScalingInput): AppScalingDecision {
  const { autoscaling, containers } = input
  if (!autoscaling.enabled) return { containers, reason: null }
  const { minContainers, maxContainers } = autoscaling
  const within = Math.min(Math.max(containers, minContainers), maxContainers)
  if (within !== containers) {
    return { containers: within, reason: `kept between ${minContainers} and ${maxContainers} containers` }
  }
  const up = wantedUp(input)
  if (up !== null && up > containers) {
    const wanted = Math.min(up, maxContainers)
    return { containers: wanted, reason: wanted === containers ? null : reasonOf(input) }
  }
  const down = wantedDown(input)
  if (down !== null && down < containers) {
    const wanted = Math.max(down, minContainers)
    return { containers: wanted, reason: wanted === containers ? null : reasonOf(input) }
  }
  return { containers, reason: null }
}

/** Length of the required history of samples, in milliseconds. */
export function scalingWindowMs(autoscaling: Autoscaling, periodMs: number, clockScale: number): number {
  const seconds = Math.max(autoscaling.scaleUpWindowSeconds, autoscaling.scaleDownWindowSeconds)
  return (seconds * 1_000) / clockScale + (missingSamples + 1) * periodMs
}

/** The count that every sample of the up window requires; null if that is no increase or unknown. */
function wantedUp(input: AppScalingInput): number | null {
  const { autoscaling, containers, clockScale } = input
  const demands = windowDemands(input, (autoscaling.scaleUpWindowSeconds * 1_000) / clockScale)
  if (!demands) return null
  const least = Math.min(...demands)
  return least > containers * (1 + tolerance) ? Math.ceil(least) : null
}

/** The highest count that a sample of the down window requires; null if part of the window is unknown. */
function wantedDown(input: AppScalingInput): number | null {
  const { autoscaling, clockScale } = input
  const demands = windowDemands(input, (autoscaling.scaleDownWindowSeconds * 1_000) / clockScale)
  return demands && Math.max(1, Math.ceil(Math.max(...demands) - 1e-9))
}

/** Demands of the samples of a window; null if it has a gap, including one up to now. */
function windowDemands(input: AppScalingInput, windowMs: number): number[] | null {
  const { nowMs, samples, periodMs } = input
  const gapMs = missingSamples * periodMs
  const newest = samples.at(-1)
  if (!newest || nowMs - newest.atMs > gapMs) return null
  const fromMs = Math.min(nowMs - windowMs, newest.atMs)
  const demands: number[] = []
  let coveredMs = nowMs
  for (let index = samples.length - 1; index >= 0; index -= 1) {
    const sample = samples[index]!
    const demand = demandOf(input, sample)
    if (sample.atMs > nowMs || demand === null) continue
    if (sample.atMs < fromMs) break
    if (coveredMs - sample.atMs > gapMs) return null
    demands.push(demand)
    coveredMs = sample.atMs
  }
  return demands.length > 0 && coveredMs - fromMs <= gapMs ? demands : null
}

/** The number of containers that this usage would fill to the target: the higher of CPU and memory. */
function demandOf({ autoscaling, limits }: AppScalingInput, sample: UsageSample): number | null {
  const { targetCpuPercent, targetMemoryPercent } = autoscaling
  const cpu =
    sample.cpuMillicores === null
      ? null
      : sample.cpuMillicores / (limits.cpuMillicores * (targetCpuPercent / 100))
  const memory =
    targetMemoryPercent === null || sample.memoryMb === null
      ? null
      : sample.memoryMb / (limits.memoryMb * (targetMemoryPercent / 100))
  return cpu === null ? memory : Math.max(cpu, memory ?? 0)
}

function reasonOf({ samples, containers, limits, autoscaling }: AppScalingInput): string {
  const newest = samples.at(-1)
  const share = (used: number | null | undefined, limit: number) =>
    `${Math.round((100 * (used ?? 0)) / (containers * limit))}%`
  const cpu = `CPU ${share(newest?.cpuMillicores, limits.cpuMillicores)} of ${autoscaling.targetCpuPercent}%`
  if (autoscaling.targetMemoryPercent === null) return cpu
  return `${cpu}, memory ${share(newest?.memoryMb, limits.memoryMb)} of ${autoscaling.targetMemoryPercent}%`
}
