/** A time on a clock that never steps. `clock` identifies the boot, because each boot has its own clock. */
export interface BootTime {
  clock: string
  ms: number
}

/** Milliseconds between two times; null if they are on different clocks. */
export function elapsedMs(since: BootTime, now: BootTime): number | null {
  return since.clock === now.clock && now.ms >= since.ms ? now.ms - since.ms : null
}
