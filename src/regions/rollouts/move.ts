import type { EnvironmentView, RolloutView } from './environment-view.ts'

type IsHere = (region: string) => boolean

/**
 * The part of an environment that belongs to the runtime of some regions: its versions and containers there. While an
 * environment moves, two runtimes have a part each.
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

/** How long the version before a move keeps serving, so that clients can change over to the new address. */
const overlapMs = 60_000

/**
 * The environment has just moved away: its containers here still serve. With a volume they do not, as their data has
 * moved.
 */
export function servesOn({ environment, current }: EnvironmentView, isHere: IsHere, nowMs: number): boolean {
  if (isHere(environment.region) || environment.desiredState === 'stopped' || !current) return false
  if (environment.applied.useVolume) return false
  const { region, deployedAt } = current.rollout
  return !isHere(region) && deployedAt !== null && nowMs - Date.parse(deployedAt) < overlapMs
}

/**
 * The remaining work of a machine for an environment that now runs elsewhere; null once nothing of it is left here.
 * `last` is the view of the previous pass.
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
