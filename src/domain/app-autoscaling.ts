import type { Autoscaling } from '../contract/app-envs.ts'

/** What all containers of an app used together at one moment; null where it was not measured. */
export interface UsageSample {
  /** Milliseconds since the epoch. */
  atMs: number
  cpuMillicores: number | null
  memoryMb: number | null
}

export interface AppScalingInput {
  nowMs: number
  autoscaling: Autoscaling
  /** Containers wished for now. */
  containers: number
  /** Limits of one container. */
  limits: { cpuMillicores: number; memoryMb: number }
  /** Oldest first. */
  samples: readonly UsageSample[]
  /** Time between two samples; data older than a few of them says nothing of now. */
  periodMs: number
  /** Windows run that many times faster. */
  clockScale: number
}

export interface AppScalingDecision {
  containers: number
  /** In a person's words; null when nothing changes. */
  reason: string | null
}

/** A demand this share above what is there is left alone: usage is never quite still. */
const tolerance = 0.1
/** This many missing samples in a row, and the scale is held. */
const missingSamples = 3

/**
 * How many containers an app should have. Demand is what all containers use, counted in containers at their
 * target, so it does not depend on how many there were when it was measured and a change of scale does not feed
 * back. Up when every sample of the up window asks for it, down to the most that the down window asked for; held
 * without data, and while the down window is not wholly measured. Always within the least and the most. Pure.
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

/** How far back samples are needed, in milliseconds. */
export function scalingWindowMs(autoscaling: Autoscaling, periodMs: number, clockScale: number): number {
  const seconds = Math.max(autoscaling.scaleUpWindowSeconds, autoscaling.scaleDownWindowSeconds)
  return (seconds * 1_000) / clockScale + (missingSamples + 1) * periodMs
}

/** Containers that every moment of the up window asked for; null when it is too little or not known. */
function wantedUp(input: AppScalingInput): number | null {
  const { autoscaling, containers, clockScale } = input
  const demands = windowDemands(input, (autoscaling.scaleUpWindowSeconds * 1_000) / clockScale)
  if (!demands) return null
  const least = Math.min(...demands)
  return least > containers * (1 + tolerance) ? Math.ceil(least) : null
}

/** The most that any moment of the down window asked for; null when part of it is not known. */
function wantedDown(input: AppScalingInput): number | null {
  const { autoscaling, clockScale } = input
  const demands = windowDemands(input, (autoscaling.scaleDownWindowSeconds * 1_000) / clockScale)
  return demands && Math.max(1, Math.ceil(Math.max(...demands) - 1e-9))
}

/** Demands of the samples of a window; null when a stretch of it was not measured, up to now. */
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

/** Containers that this usage would fill to their target: the greater of CPU and memory. */
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
