import { isDeepStrictEqual } from 'node:util'
import type { PendingChanges } from '../../contract/app-envs.ts'
import type { Settings, StoredVariable } from './environment.ts'

const groups = {
  branch: 'Source',
  zClouds: 'Resources',
  containers: 'Resources',
  disk: 'Resources',
  envVars: 'Environment Variables',
  functionConfig: 'Function Settings',
  jobConfig: 'Job Settings',
  databaseSettings: 'Database Settings',
  healthCheck: 'Health Check',
  useVolume: 'Storage',
  mountPath: 'Storage',
} as const satisfies Record<keyof Settings, string>

/** Changes that only the scaler, the gateway, health checks or the next job run read; they replace no container. */
const withoutRollout: readonly (keyof Settings)[] = ['functionConfig', 'jobConfig', 'healthCheck']

/** Names of the settings that are saved but not in effect yet (3.3). */
export function pendingFields(saved: Settings, applied: Settings): (keyof Settings)[] {
  return (Object.keys(groups) as (keyof Settings)[]).filter(
    (field) => !isDeepStrictEqual(saved[field], applied[field]),
  )
}

/** Names of the variables that are saved differently than they are in force. */
export function pendingVariables(saved: Settings, inForce: Settings): string[] {
  const old = new Map(inForce.envVars.map((variable) => [variable.name, variable]))
  const changed = saved.envVars.filter((variable) => !isDeepStrictEqual(variable, old.get(variable.name)))
  const kept = new Set(saved.envVars.map(({ name }) => name))
  return [...changed.map(({ name }) => name), ...[...old.keys()].filter((name) => !kept.has(name))]
}

/** Fields and variables that are saved and not in force. */
export function pendingNames(saved: Settings, inForce: Settings): string[] {
  return pendingFields(saved, inForce).flatMap((field) =>
    field === 'envVars' ? pendingVariables(saved, inForce) : [field],
  )
}

/** Names of references that were resolved again after the settings in force: their source has changed. */
export function refreshedVariables(saved: Settings, inForce: Settings): string[] {
  const old = new Map(inForce.envVars.map((variable) => [variable.name, variable]))
  return saved.envVars
    .filter(({ name, from, value }) => {
      const before = old.get(name)
      return from && before && isDeepStrictEqual(from, before.from) && value !== before.value
    })
    .map(({ name }) => name)
}

/** With `authors` (by `pendingPaths`) each change has the user who saved it last, and when. */
export function pendingChangesOf(
  saved: Settings,
  applied: Settings,
  authors?: ReadonlyMap<string, Author>,
): PendingChanges {
  const fields = pendingFields(saved, applied)
  const paths = authors ? pendingPaths(saved, applied) : []
  return {
    hasBuildChanges: needsBuild(saved, applied),
    hasDeployChanges: fields.length > 0,
    deployPendingChanges: fields.map((field) => {
      const change = { group: groups[field], field }
      if (!authors) return change
      const saves = paths
        .filter((path) => path === field || path.startsWith(`${field}.`))
        .map((path) => ({ name: pathName(path), ...(authors.get(path) ?? { by: null, at: null }) }))
      const [newest] = saves.toSorted((a, b) => ((a.at ?? '') < (b.at ?? '') ? 1 : -1))
      const { by = null, at = null } = newest ?? {}
      return { ...change, by, at, ...(field === 'envVars' ? { variables: saves } : {}) }
    }),
  }
}

interface Author {
  by: string | null
  at: string
}

const keyedFields = ['functionConfig', 'jobConfig', 'databaseSettings', 'healthCheck'] as const

/**
 * What is saved differently than it is in force, as the smallest paths that different people can save: `zClouds`,
 * `functionConfig.maxScale`, `envVars.COLOR`.
 */
export function pendingPaths(saved: Settings, inForce: Settings): string[] {
  return pendingFields(saved, inForce).flatMap((field) => {
    if (field === 'envVars') return pendingVariables(saved, inForce).map((name) => `envVars.${name}`)
    const keyed = keyedFields.find((one) => one === field)
    if (!keyed) return [field]
    const [one, other] = [keysOf(saved[keyed]), keysOf(inForce[keyed])]
    return [...new Set([...one.keys(), ...other.keys()])]
      .filter((key) => !isDeepStrictEqual(one.get(key), other.get(key)))
      .map((key) => `${field}.${key}`)
  })
}

/** The name of a path for people: that of a variable, else the path of the setting. */
export function pathName(path: string): string {
  return path.replace(/^envVars\./, '')
}

function keysOf(value: object | undefined): Map<string, unknown> {
  return new Map(Object.entries(value ?? {}))
}

/** Whether the branch, or a variable that the build uses, has changed. */
export function needsBuild(saved: Settings, applied: Settings): boolean {
  if (saved.branch !== applied.branch) return true
  const atBuild = (variables: StoredVariable[]) =>
    variables.filter((variable) => variable.type !== 'DEPLOY').map(({ name, value }) => ({ name, value }))
  return !isDeepStrictEqual(atBuild(saved.envVars), atBuild(applied.envVars))
}

/** Whether containers must be replaced for the change to take effect. */
export function needsRollout(saved: Settings, applied: Settings): boolean {
  return pendingFields(saved, applied).some((field) => !withoutRollout.includes(field))
}

/** The saved settings without some of the pending changes (`pendingPaths`), which are as they are in force. */
export function withoutPaths(saved: Settings, inForce: Settings, paths: readonly string[]): Settings {
  const settings: Settings = { ...saved }
  for (const path of paths) {
    const [field, key] = path.split('.') as [keyof Settings, string?]
    if (field === 'envVars') continue
    const keyed = keyedFields.find((one) => one === field)
    if (!keyed || key === undefined) Object.assign(settings, { [field]: inForce[field] })
    else Object.assign(settings, { [field]: withKey(settings[keyed], inForce[keyed], key) })
  }
  if (settings.healthCheck && Object.keys(settings.healthCheck).length === 0) delete settings.healthCheck
  return { ...settings, envVars: withoutVariables(saved, inForce, new Set(paths)) }
}

function withKey(into: object | undefined, from: object | undefined, key: string): object {
  const values = keysOf(into)
  const value = keysOf(from).get(key)
  if (value === undefined) values.delete(key)
  else values.set(key, value)
  return Object.fromEntries(values)
}

function withoutVariables(saved: Settings, inForce: Settings, paths: ReadonlySet<string>): StoredVariable[] {
  const isHeld = ({ name }: StoredVariable) => paths.has(`envVars.${name}`)
  const old = new Map(inForce.envVars.map((variable) => [variable.name, variable]))
  const kept = saved.envVars.flatMap((variable) =>
    isHeld(variable) ? (old.get(variable.name) ?? []) : [variable],
  )
  const names = new Set(kept.map(({ name }) => name))
  // Removals that are held back.
  return [...kept, ...inForce.envVars.filter((variable) => isHeld(variable) && !names.has(variable.name))]
}
