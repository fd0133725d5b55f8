import { isDeepStrictEqual } from 'node:util'
import type { AccountSettings } from '../contract/accounts.ts'
import type { updateAppEnv } from '../contract/app-envs.ts'
import type { App } from '../contract/apps.ts'
import type { InputOf } from '../contract/operation.ts'
import { AppError } from '../errors.ts'
import { usesGitHost } from './app.ts'
import { type DatabaseOffers, databasePresetOf } from './database-presets.ts'
import { checkDatabase } from './database-settings.ts'
import type { Environment } from './environment.ts'
import { checkFunctionConfig } from './function-config.ts'
import { checkRegion, type RegionFacts } from './new-environment.ts'
import { checkScalable } from './scalable.ts'
import { checkMovable, checkVolume } from './volume.ts'

type Input = InputOf<typeof updateAppEnv>

/**
 * Refuses what cannot change. A field written back as it was read is no change, so a read object can always be
 * put again (contract.md 11, Round trips).
 */
export function checkEnvironmentUpdate(
  input: Input,
  environment: Environment,
  app: App,
  account: AccountSettings,
  regions: readonly RegionFacts[],
  offers: DatabaseOffers,
): void {
  const { saved } = environment
  if (input.region !== undefined && input.region !== environment.region) {
    checkRegion(input.region, app, regions)
    checkMovable(app, environment)
  }
  if (input.branch !== undefined && input.branch !== saved.branch && !usesGitHost(app)) {
    throw invalid(
      'branch is for apps that use a Git host',
      'This app deploys uploads or images; leave branch out.',
    )
  }
  if (
    input.dockerPresetVersion !== undefined &&
    input.dockerPresetVersion !== environment.dockerPresetVersion
  ) {
    throw invalid(
      'dockerPresetVersion cannot change',
      'It is fixed for the life of a database: create a new database environment and migrate the data.',
      app.isDatabase ? 'D4' : undefined,
    )
  }
  if (input.containers !== undefined && input.containers !== saved.containers)
    checkScalable(app, 'manual container scaling')
  if (app.isDatabase) {
    const preset = databasePresetOf(app.dockerPreset)
    const { containers, disk, databaseSettings } = input
    const { withPersistence } = environment
    const wish = { containers, disk, databaseSettings, withPersistence }
    checkDatabase(wish, preset, offers.get(preset.dockerPreset))
  }
  changedOnlyFor(app.isDatabase, 'managed databases', { disk: [input.disk, saved.disk] })
  changedOnlyFor(app.isDatabase, 'managed databases', { databaseSettings: [input.databaseSettings, {}] })
  changedOnlyFor(app.isJob, 'JOB apps', { jobConfig: [input.jobConfig, {}] })
  if (!app.isFunction && input.functionConfig !== undefined) {
    throw invalid('functionConfig is for FUNCTION apps only', 'Leave functionConfig out for this app.', 'E3')
  }
  if (input.functionConfig) checkFunctionConfig({ ...saved.functionConfig, ...input.functionConfig }, account)
  checkVolume(app, input)
}

function changedOnlyFor(applies: boolean, kind: string, fields: Record<string, [unknown, unknown]>): void {
  if (applies) return
  for (const [field, [given, stored]] of Object.entries(fields)) {
    if (given === undefined || isDeepStrictEqual(given, stored)) continue
    throw invalid(`${field} is for ${kind} only`, `Leave ${field} out for this app.`)
  }
}

function invalid(message: string, details: string, rule?: string): AppError {
  return new AppError('invalid', message, { details, ...(rule ? { rule } : {}) })
}
