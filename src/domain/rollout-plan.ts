import { planDatabase } from './database-plan.ts'

/** A container as the plan sees it. */
export interface PlannedPod {
  podId: string
  rolloutId: string
  wish: 'run' | 'end'
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
  /** The rollout that serves; null while nothing does. */
  current: string | null
  /** The rollout being brought in, once its image is there. */
  wanted: string | null
  /** Containers wished for: an app's count; for a function the greater of warm and what the gateway asks for. */
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
  | { do: 'promote'; rolloutId: string }

/**
 * What to do next so that what runs becomes what is wished: new containers answer before old ones go, and a
 * function's containers go only when the gateway has drained them (F1). Pure: same input, same steps.
 */
export function planRollout(input: PlanInput): PlanStep[] {
  if (input.kind === 'database') return planDatabase(input)
  const steps: PlanStep[] = []
  const kept = new Set([input.current, input.wanted].filter((id) => id !== null))
  for (const pod of input.pods) {
    if (pod.wish === 'end') {
      if (pod.drained || pod.state !== 'ready') steps.push({ do: 'remove-pod', podId: pod.podId })
    } else if (!input.runs || input.kind === 'none' || !kept.has(pod.rolloutId)) {
      steps.push({ do: 'end-pod', podId: pod.podId })
    }
  }
  if (!input.runs) return steps
  if (input.kind === 'none') {
    if (input.wanted) steps.push({ do: 'promote', rolloutId: input.wanted })
    return steps
  }
  if (input.oneAtATime) return [...steps, ...oneAfterTheOther(input)]
  if (input.wanted) steps.push(...bringIn(input, input.wanted))
  if (input.current) steps.push(...keepUp(input, input.current))
  return steps
}

/** Nothing starts while a container of another version is there, and the serving version makes room first. */
function oneAfterTheOther(input: PlanInput): PlanStep[] {
  const rolloutId = input.wanted ?? input.current
  if (rolloutId === null) return []
  const others = input.pods.filter((pod) => pod.rolloutId !== rolloutId)
  if (others.length > 0 || input.leaving) {
    // Those outside both versions are on their way out already.
    const serving = others.filter((pod) => pod.wish === 'run' && pod.rolloutId === input.current)
    return serving.map((pod) => ({ do: 'end-pod', podId: pod.podId }))
  }
  return input.wanted ? bringIn(input, rolloutId) : keepUp(input, rolloutId)
}

/** At least one container proves that the new version answers, also for a function that is at zero. */
function bringIn(input: PlanInput, rolloutId: string): PlanStep[] {
  const pods = running(input, rolloutId)
  const needed = Math.max(1, input.desired)
  if (pods.filter((pod) => pod.state === 'ready').length >= needed) return [{ do: 'promote', rolloutId }]
  return [...startAbsent(input, pods), ...addMissing(needed - pods.length, rolloutId)]
}

function keepUp(input: PlanInput, rolloutId: string): PlanStep[] {
  const pods = running(input, rolloutId)
  const over = pods.filter((pod) => input.kind === 'function' && (pod.state === 'exited' || pod.drained))
  const steps: PlanStep[] = over.map((pod) => ({ do: 'end-pod', podId: pod.podId }))
  const alive = pods.filter((pod) => !over.includes(pod))
  if (input.kind === 'app' && alive.length > input.desired) {
    // Those that do not answer yet go first, then the newest.
    const surplus = [...alive]
      .reverse()
      .sort((a, b) => Number(a.state === 'ready') - Number(b.state === 'ready'))
    for (const pod of surplus.slice(0, alive.length - input.desired))
      steps.push({ do: 'end-pod', podId: pod.podId })
    return steps
  }
  if (!input.mayStart) return steps
  return [...steps, ...startAbsent(input, alive), ...addMissing(input.desired - alive.length, rolloutId)]
}

function startAbsent(input: PlanInput, pods: readonly PlannedPod[]): PlanStep[] {
  return pods
    .filter((pod) => pod.state === 'absent' || (pod.state === 'exited' && input.kind === 'app'))
    .map((pod) => ({ do: 'start-pod', podId: pod.podId }))
}

function addMissing(count: number, rolloutId: string): PlanStep[] {
  return Array.from({ length: Math.max(0, count) }, () => ({ do: 'add-pod', rolloutId }))
}

function running(input: PlanInput, rolloutId: string): PlannedPod[] {
  return input.pods.filter((pod) => pod.wish === 'run' && pod.rolloutId === rolloutId)
}
