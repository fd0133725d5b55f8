import type { AccountSettings } from '../../contract/accounts.ts'
import type { createAppEnv } from '../../contract/app-envs.ts'
import type { App } from '../../contract/apps.ts'
import type { InputOf } from '../../contract/operation.ts'
import { AppError } from '../../errors.ts'
import { usesGitHost } from '../apps/app.ts'
import { type DatabaseAvailabilities, databasePresetOf } from '../databases/presets.ts'
import { checkDatabase, checkVersion } from '../databases/settings.ts'
import { checkFunctionConfig } from '../functions/config.ts'
import { checkHealthCheck } from './health-check.ts'
import { checkVolume } from './volume.ts'

export interface RegionFacts {
  region: string
  functionDomain: string | null
  /** The machine that runs it, where several share the installation. */
  node?: string | undefined
  engine?: string
  /** Its engine works now. */
  available?: boolean
  unavailableReason?: string | undefined
  capabilities?: { builds: boolean }
}

/** Which fields are allowed for which kind of app (F5, F7); `availabilities` are those of its region. */
export function checkNewEnvironment(
  input: InputOf<typeof createAppEnv>,
  app: App,
  account: AccountSettings,
  regions: readonly RegionFacts[],
  availabilities: DatabaseAvailabilities,
): void {
  checkRegion(input.region, app, regions)
  if (usesGitHost(app) && input.branch === undefined) {
    throw new AppError('invalid', 'branch is required', {
      details: 'The app uses a Git host: send the branch to deploy.',
    })
  }
  if (app.isDatabase) {
    const preset = databasePresetOf(app.dockerPreset)
    checkVersion(input.dockerPresetVersion, preset, availabilities)
    checkDatabase(input, preset, availabilities.get(preset.dockerPreset))
  }
  onlyFor(app.isDatabase, 'managed databases', {
    dockerPresetVersion: input.dockerPresetVersion,
    databaseSettings: input.databaseSettings,
    disk: input.disk,
    withPersistence: input.withPersistence || undefined,
    containers: input.containers === 1 ? undefined : input.containers,
  })
  onlyFor(app.isJob, 'JOB apps', { jobConfig: input.jobConfig })
  onlyFor(app.isFunction, 'FUNCTION apps', { functionConfig: input.functionConfig })
  if (input.functionConfig) checkFunctionConfig(input.functionConfig, account)
  checkHealthCheck(app, input.healthCheck)
  checkVolume(app, input)
  if (app.isDatabase && input.useVolume) {
    throw new AppError('invalid', 'useVolume is for apps', {
      details: 'A managed database keeps its data with withPersistence true.',
    })
  }
}

/** F5: functions run only in regions that have a function domain. */
export function checkRegion(
  region: string,
  app: { isFunction: boolean },
  regions: readonly RegionFacts[],
): void {
  const names = regions.map((known) => known.region)
  const known = regions.find((one) => one.region === region)
  if (!known) {
    throw new AppError('invalid', 'Unknown region', {
      details: `region must be one of: ${names.join(', ')}.`,
    })
  }
  if (app.isFunction && known.functionDomain === null) {
    const able = regions.filter((one) => one.functionDomain !== null).map((one) => one.region)
    throw new AppError('invalid', 'Functions cannot run in this region', {
      details: `It has no function domain. Regions that have one: ${able.join(', ') || 'none'}.`,
      rule: 'F5',
    })
  }
}

function onlyFor(applies: boolean, kind: string, fields: Record<string, unknown>): void {
  if (applies) return
  const sent = Object.keys(fields).filter((field) => fields[field] !== undefined)
  if (sent.length === 0) return
  throw new AppError('invalid', `${sent.join(', ')} ${sent.length > 1 ? 'are' : 'is'} for ${kind} only`, {
    details: `Leave ${sent.join(', ')} out for this app.`,
  })
}
