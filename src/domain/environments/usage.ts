import type { UsageHour } from '../../contract/measurements.ts'
import { zCloudSize } from './environment.ts'

/** F4: function pod time is billed at three times the standard rate. */
export const functionRateMultiplier = 3

export const hourMs = 3_600_000

/** The run of one container, as billed. */
export interface ContainerRun {
  zClouds: number
  rateMultiplier: number
  startedMs: number
  /** Null while it runs. */
  finishedMs: number | null
}

/**
 * A meter reads every two seconds, for a busy cluster less often. After this long without a read, the machine, engine or
 * cluster of the container counts as unreachable.
 */
const awayMs = 600_000

/**
 * The known end of a run. A container that was last seen a while ago counts up to that time, because its machine may never
 * come back; if it does, the meter stores the real end. `seenMs` is 0 for a container that was never seen.
 */
export function knownEnd(
  { startedMs, finishedMs }: Pick<ContainerRun, 'startedMs' | 'finishedMs'>,
  seenMs: number,
  nowMs: number,
): number | null {
  if (finishedMs !== null || seenMs === 0 || nowMs - seenMs <= awayMs) return finishedMs
  return Math.max(startedMs, seenMs)
}

export type HourlyUsage = Omit<UsageHour, 'hour'> & { hourMs: number }

/**
 * Whole seconds of a run within a range. Counts between whole seconds of the clock, so that the pieces of a run add
 * up exactly, wherever it is split.
 */
export function secondsWithin(run: ContainerRun, fromMs: number, toMs: number, nowMs: number): number {
  const from = Math.floor(Math.max(run.startedMs, fromMs) / 1_000)
  const to = Math.floor(Math.min(run.finishedMs ?? nowMs, toMs) / 1_000)
  return Math.max(0, to - from)
}

/** Usage of runs by hour (UTC), oldest first; hours without usage are omitted (F1: none at zero). */
export function usageByHour(
  runs: readonly ContainerRun[],
  range: { fromMs: number; toMs: number; nowMs: number },
): HourlyUsage[] {
  const { fromMs, toMs, nowMs } = range
  const hours = new Map<number, HourlyUsage>()
  for (const run of runs) {
    const endMs = Math.min(run.finishedMs ?? nowMs, toMs)
    for (let hour = floorHour(Math.max(run.startedMs, fromMs)); hour < endMs; hour += hourMs) {
      const seconds = secondsWithin(run, Math.max(fromMs, hour), Math.min(toMs, hour + hourMs), nowMs)
      if (seconds > 0) addHour(hours, hourOf(run, hour, seconds))
    }
  }
  return [...hours.values()].sort((a, b) => a.hourMs - b.hourMs)
}

/** Merges entries of the same hour, oldest first. */
export function mergeHours(...lists: readonly HourlyUsage[][]): HourlyUsage[] {
  const hours = new Map<number, HourlyUsage>()
  for (const hour of lists.flat()) addHour(hours, hour)
  return [...hours.values()].sort((a, b) => a.hourMs - b.hourMs)
}

/** Disk above the amount included in zClouds; databases only (8.disk-overage). */
export function diskUsage(zClouds: number, diskMb: number, isDatabase: boolean) {
  const includedDiskMb = zClouds * zCloudSize.diskMb
  return { includedDiskMb, overageDiskMb: isDatabase ? Math.max(0, diskMb - includedDiskMb) : 0 }
}

export function floorHour(ms: number): number {
  return Math.floor(ms / hourMs) * hourMs
}

function hourOf(run: ContainerRun, hour: number, seconds: number): HourlyUsage {
  const zCloudSeconds = seconds * run.zClouds
  return {
    hourMs: hour,
    containerSeconds: seconds,
    zCloudSeconds,
    billedZCloudSeconds: zCloudSeconds * run.rateMultiplier,
  }
}

function addHour(hours: Map<number, HourlyUsage>, more: HourlyUsage): void {
  const known = hours.get(more.hourMs)
  if (!known) {
    hours.set(more.hourMs, { ...more })
    return
  }
  known.containerSeconds += more.containerSeconds
  known.zCloudSeconds += more.zCloudSeconds
  known.billedZCloudSeconds += more.billedZCloudSeconds
}
