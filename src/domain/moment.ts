/** A point on a clock that never steps; `clock` names it, because a machine that starts again begins another one. */
export interface Moment {
  clock: string
  ms: number
}

/** Milliseconds between two moments; null when they are on different clocks and nothing can be said. */
export function elapsedMs(since: Moment, now: Moment): number | null {
  return since.clock === now.clock && now.ms >= since.ms ? now.ms - since.ms : null
}
