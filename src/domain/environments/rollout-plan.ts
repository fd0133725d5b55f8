import { planDatabase } from '../databases/rollout-plan.ts'
import type { PlanInput, PlannedPod, PlanStep } from './plan-steps.ts'

/**
 * The next steps toward the desired state: new containers must be ready before old ones end, and a function's
 * containers end only after the gateway has drained them (F1). Pure: same input, same steps.
 */
export function planRollout(input: PlanInput): PlanStep[] {
  if (input.kind === 'database') return planDatabase(input)
  const steps: PlanStep[] = []
  const kept = new Set([input.current, input.wanted].filter((id) => id !== null))
  for (const pod of input.pods) {
    if (pod.desiredState === 'end') {
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
  if (input.current && input.current !== input.wanted) steps.push(...keepUp(input, input.current))
  return steps
}

/** A new version starts only after all containers of other versions are gone, and the serving version stops first. */
function oneAfterTheOther(input: PlanInput): PlanStep[] {
  const rolloutId = input.wanted ?? input.current
  if (rolloutId === null) return []
  const others = input.pods.filter((pod) => pod.rolloutId !== rolloutId)
  if (others.length > 0 || input.leaving) {
    // Containers of neither version are ending already.
    const serving = others.filter((pod) => pod.desiredState === 'run' && pod.rolloutId === input.current)
    return serving.map((pod) => ({ do: 'end-pod', podId: pod.podId }))
  }
  return input.wanted ? bringIn(input, rolloutId) : keepUp(input, rolloutId)
}

/** At least one container must prove that the new version becomes ready and stays so, even for a function at zero. */
function bringIn(input: PlanInput, rolloutId: string): PlanStep[] {
  const serves = input.current === rolloutId
  if (serves && input.trial === 'open') return keepUp(input, rolloutId)
  const pods = running(input, rolloutId)
  const needed = Math.max(1, input.desired)
  const isReady = pods.filter((pod) => pod.state === 'ready').length >= needed
  if (input.trial === 'passed' && (isReady || serves)) return [{ do: 'promote', rolloutId }]
  if (isReady) return input.trial === 'none' ? [{ do: 'try', rolloutId }] : []
  // A function's container that ended is replaced, not restarted.
  const over = pods.filter((pod) => input.kind === 'function' && pod.state === 'exited')
  const alive = pods.filter((pod) => !over.includes(pod))
  return [
    ...over.map((pod): PlanStep => ({ do: 'end-pod', podId: pod.podId })),
    ...startAbsent(input, alive),
    ...addMissing(needed - alive.length, rolloutId),
  ]
}

function keepUp(input: PlanInput, rolloutId: string): PlanStep[] {
  const pods = running(input, rolloutId)
  const over = pods.filter((pod) => input.kind === 'function' && (pod.state === 'exited' || pod.drained))
  const steps: PlanStep[] = over.map((pod) => ({ do: 'end-pod', podId: pod.podId }))
  const alive = pods.filter((pod) => !over.includes(pod))
  if (input.kind === 'app' && alive.length > input.desired) {
    // Containers that are not ready yet end first, then the newest ones.
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
  return input.pods.filter((pod) => pod.desiredState === 'run' && pod.rolloutId === rolloutId)
}
