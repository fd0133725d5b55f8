import type { ContainerRun } from './usage.ts'

interface ContainerCount {
  /** End of the step, in milliseconds since the epoch. */
  tMs: number
  least: number
  most: number
  started: number
  startedFromZero: number
}

interface Window {
  fromMs: number
  toMs: number
  stepMs: number
}

/** From this time on: the numbers of containers that should run and of those that were ready. */
export interface CountChange {
  atMs: number
  desired: number
  ready: number
}

/**
 * For each step of `containerCounts`: the most containers that should run at a time, and the fewest that were ready.
 * Null before the first change.
 */
export function desiredAndReady(
  changes: readonly CountChange[],
  { fromMs, toMs, stepMs }: Window,
): { desired: number | null; ready: number | null }[] {
  const steps: { desired: number | null; ready: number | null }[] = []
  let now: CountChange | null = null
  let next = 0
  for (let ms = Math.floor(fromMs / stepMs) * stepMs; ms < toMs; ms += stepMs) {
    // The count at the beginning of the step, then the changes within it.
    for (; next < changes.length && changes[next]!.atMs <= ms; next += 1) now = changes[next]!
    const counted: CountChange[] = now ? [now] : []
    for (; next < changes.length && changes[next]!.atMs < ms + stepMs; next += 1) counted.push(changes[next]!)
    now = counted.at(-1) ?? null
    steps.push({
      desired: now && Math.max(...counted.map(({ desired }) => desired)),
      ready: now && Math.min(...counted.map(({ ready }) => ready)),
    })
  }
  return steps
}

/**
 * Containers that ran at the same time, for each step up to `toMs`. Steps are aligned to multiples of `stepMs`, so that
 * repeated reads return the same ones; the last one may be incomplete.
 */
export function containerCounts(
  runs: readonly Pick<ContainerRun, 'startedMs' | 'finishedMs'>[],
  { fromMs, toMs, stepMs }: Window,
): ContainerCount[] {
  // A container that ends as another starts makes room for it: the pair is not counted as two at the same time.
  const events = runs
    .flatMap(({ startedMs, finishedMs }) => [
      { atMs: startedMs, change: 1 },
      ...(finishedMs === null ? [] : [{ atMs: Math.max(finishedMs, startedMs + 1), change: -1 }]),
    ])
    .sort((a, b) => a.atMs - b.atMs || a.change - b.change)
  const counts: ContainerCount[] = []
  let running = 0
  let next = 0
  const firstMs = Math.floor(fromMs / stepMs) * stepMs
  for (; next < events.length && events[next]!.atMs <= firstMs; next += 1) running += events[next]!.change
  for (let endMs = firstMs + stepMs; endMs - stepMs < toMs; endMs += stepMs) {
    const count = { tMs: endMs, least: running, most: running, started: 0, startedFromZero: 0 }
    for (; next < events.length && events[next]!.atMs <= Math.min(endMs, toMs); next += 1) {
      if (events[next]!.change > 0) {
        count.started += 1
        if (running === 0) count.startedFromZero += 1
      }
      running += events[next]!.change
      count.least = Math.min(count.least, running)
      count.most = Math.max(count.most, running)
    }
    counts.push(count)
  }
  return counts
}
