import type { EnvironmentView, RolloutView } from './environment-view.ts'

type IsHere = (region: string) => boolean

/**
 * What the runtime of some regions has to do with an environment: the versions and containers there. While an environment
 * moves, each of two runtimes has a part.
 */
export function partIn(view: EnvironmentView, isHere: IsHere): EnvironmentView {
  const only = (version: RolloutView | null) => (version && isHere(version.rollout.region) ? version : null)
  const { current, wanted, serving, pods } = view
  return {
    ...view,
    ...{ current: only(current), wanted: only(wanted), serving: only(serving) },
    pods: pods.filter(({ region }) => isHere(region)),
  }
}

/** How long the version before a move serves on, so that clients can change over to the new address. */
const overlapMs = 60_000

/** It moved away a moment ago: what ran here still serves. With a volume it does not: its data has moved. */
export function servesOn({ environment, current }: EnvironmentView, isHere: IsHere, nowMs: number): boolean {
  if (isHere(environment.region) || environment.desiredState === 'stopped' || !current) return false
  if (environment.applied.useVolume) return false
  const { region, deployedAt } = current.rollout
  return !isHere(region) && deployedAt !== null && nowMs - Date.parse(deployedAt) < overlapMs
}

/**
 * What a machine has to do of an environment that runs in a region elsewhere, where `last` is what it did before; null
 * once nothing of it is left here.
 */
export function leftBehind(
  whole: EnvironmentView,
  last: EnvironmentView | null,
  { isHere, nowMs, hasPods }: { isHere: IsHere; nowMs: number; hasPods: boolean },
): EnvironmentView | null {
  const part = partIn(whole, isHere)
  if (last && servesOn(whole, isHere, nowMs)) return { ...last, pods: part.pods }
  return part.current || part.pods.length > 0 || hasPods ? part : null
}
