import { isDeepStrictEqual } from 'node:util'
import { deepCopy } from '../deep-copy.ts'
import type { Environment, Rollout, Settings, StoredVariable } from './environment.ts'

type SameVariable = (one: StoredVariable, other: StoredVariable) => boolean

/** The settings of an earlier version. Its scale and the size of its disk follow the load and the data, so they stay. */
export function settingsOfVersion(ran: Settings, inForce: Settings): Settings {
  // Settings of an older program lack newer fields. Without an own health check, there is none.
  const { healthCheck: _, ...present } = inForce
  const { containers, disk } = inForce
  return deepCopy({ ...present, ...ran, containers, disk })
}

/** The saved settings after `target` replaces those in force: pending changes stay, everything else is as in `target`. */
export function keepPending(
  saved: Settings,
  inForce: Settings,
  target: Settings,
  same: SameVariable,
): Settings {
  const [mine, base, wanted] = [saved, inForce, target].map(({ envVars: _, ...rest }) => rest)
  const merged = mergedField(base, mine, wanted) as Omit<Settings, 'envVars'>
  const envVars = mergedVariables(inForce.envVars, saved.envVars, target.envVars, same)
  return deepCopy({ ...merged, envVars })
}

/** A rollback that is not completed leaves no pending changes behind: the caller saves the environment. */
export function giveUpRestored(environment: Pick<Environment, 'saved'>, rollout: Rollout): boolean {
  const { savedBefore, settings } = rollout
  if (!savedBefore) return false
  environment.saved = keepPending(environment.saved, settings, savedBefore, isDeepStrictEqual)
  return true
}

function mergedField(base: unknown, mine: unknown, target: unknown): unknown {
  if (isDeepStrictEqual(mine, base)) return target
  if (!isRecord(base) || !isRecord(mine) || !isRecord(target)) return mine
  const keys = new Set([base, mine, target].flatMap((one) => Object.keys(one)))
  const merged = [...keys].map((key) => [key, mergedField(base[key], mine[key], target[key])] as const)
  return Object.fromEntries(merged.filter(([, value]) => value !== undefined))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** In the order of `target`, because another order is a pending change. */
function mergedVariables(
  base: readonly StoredVariable[],
  mine: readonly StoredVariable[],
  target: readonly StoredVariable[],
  same: SameVariable,
): StoredVariable[] {
  const [was, saved, wanted] = [base, mine, target].map((list) => new Map(list.map((one) => [one.name, one])))
  const isPending = (name: string) => {
    const [before, after] = [was!.get(name), saved!.get(name)]
    return before && after ? !same(before, after) && !isRefreshed(before, after) : before !== after
  }
  const kept = target.flatMap((variable) => {
    const own = saved!.get(variable.name)
    if (!isPending(variable.name) || (own && same(own, variable))) return [variable]
    return own ? [own] : []
  })
  return [...kept, ...mine.filter(({ name }) => !wanted!.has(name) && isPending(name))]
}

/** The source of a reference changed, and no user saved a change. */
function isRefreshed(before: StoredVariable, after: StoredVariable): boolean {
  return after.from !== undefined && before.type === after.type && isDeepStrictEqual(before.from, after.from)
}
