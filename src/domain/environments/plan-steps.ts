/** A container as the plan sees it. */
export interface PlannedPod {
  podId: string
  rolloutId: string
  desiredState: 'run' | 'end'
  /** Databases: which of the containers it is; 0 is the one that the others follow. */
  ordinal?: number
  /** `starting`: being created or not listening yet; `exited`: it ran and ended; `absent`: to be started again. */
  state: 'starting' | 'ready' | 'exited' | 'absent'
  /** The gateway gives it no more requests and none is in flight. */
  drained: boolean
}

export interface PlanInput {
  kind: 'app' | 'function' | 'database' | 'none'
  /** False when the environment is to be stopped. */
  runs: boolean
  /** The rollout that serves; null if none does. */
  current: string | null
  /** The rollout being brought in, once its image is there. */
  wanted: string | null
  /** The stability window of `wanted`: not begun, open, or passed. `current` is `wanted` if it serves meanwhile. */
  trial: 'none' | 'open' | 'passed'
  /** Desired containers: an app's count; for a function the greater of warm and the gateway's request. */
  desired: number
  /** Two containers never run at the same time, because both would write to one volume: the old one goes first. */
  oneAtATime: boolean
  /** A container is being taken down right now. */
  leaving: boolean
  /** New starts wait until a back-off is over. */
  mayStart: boolean
  pods: readonly PlannedPod[]
}

export type PlanStep =
  | { do: 'add-pod'; rolloutId: string; ordinal?: number }
  /** Start the container of a pod that has none, or whose container ended (in place, for apps). */
  | { do: 'start-pod'; podId: string }
  /** Take it out of service; it ends when drained. */
  | { do: 'end-pod'; podId: string }
  | { do: 'remove-pod'; podId: string }
  /** Its containers are ready: its stability window begins. */
  | { do: 'try'; rolloutId: string }
  | { do: 'promote'; rolloutId: string }
