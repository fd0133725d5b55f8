import type { PlanInput, PlanStep } from '../environments/plan-steps.ts'

/**
 * The next steps of a database. Its data is on one volume, so the old container must be gone before the new one
 * starts; if the new version cannot start, the previous one is restored in the same way. Replicas start after their
 * primary. Pure.
 */
export function planDatabase(input: PlanInput): PlanStep[] {
  const target = input.runs ? (input.wanted ?? input.current) : null
  const isOfTarget = (pod: PlanInput['pods'][number]) =>
    pod.desiredState === 'run' && pod.rolloutId === target
  const steps: PlanStep[] = input.pods
    .filter((pod) => !isOfTarget(pod))
    .map((pod) => ({ do: pod.desiredState === 'end' ? 'remove-pod' : 'end-pod', podId: pod.podId }))
  if (target === null || steps.length > 0 || input.leaving) return steps
  const pods = input.pods.filter(isOfTarget)
  if (input.pods.length > pods.length) return steps
  if (target === input.wanted) {
    const ready = pods.filter((pod) => pod.state === 'ready').length
    if (ready >= input.desired) return [{ do: 'promote', rolloutId: target }]
  } else if (!input.mayStart) return steps
  // A replica starts as a copy of the first container, so that one must be ready.
  const primaryAnswers = pods.some((pod) => ordinalOf(pod) === 0 && pod.state === 'ready')
  const mayBegin = (ordinal: number) => ordinal === 0 || primaryAnswers
  for (const pod of pods) {
    const isDown = pod.state === 'absent' || pod.state === 'exited'
    if (isDown && mayBegin(ordinalOf(pod))) steps.push({ do: 'start-pod', podId: pod.podId })
  }
  const present = new Set(pods.map(ordinalOf))
  for (let ordinal = 0; ordinal < input.desired; ordinal++) {
    if (!present.has(ordinal) && mayBegin(ordinal)) steps.push({ do: 'add-pod', rolloutId: target, ordinal })
  }
  return steps
}

function ordinalOf({ ordinal }: PlanInput['pods'][number]): number {
  return ordinal ?? 0
}
