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

export function pendingChangesOf(saved: Settings, applied: Settings): PendingChanges {
  const fields = pendingFields(saved, applied)
  return {
    hasBuildChanges: needsBuild(saved, applied),
    hasDeployChanges: fields.length > 0,
    deployPendingChanges: fields.map((field) => ({ group: groups[field], field })),
  }
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
