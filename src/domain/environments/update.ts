import { isDeepStrictEqual } from 'node:util'
import type { AccountSettings } from '../../contract/accounts.ts'
import type { updateAppEnv } from '../../contract/app-envs.ts'
import type { App } from '../../contract/apps.ts'
import type { InputOf } from '../../contract/operation.ts'
import { scalingViolation } from '../../contract/rules.ts'
import { AppError, rejectViolation } from '../../errors.ts'
import { usesGitHost } from '../apps/app.ts'
import { type DatabaseAvailabilities, databasePresetOf } from '../databases/presets.ts'
import { checkDatabase } from '../databases/settings.ts'
import { checkFunctionConfig } from '../functions/config.ts'
import type { RegionFacts } from './creation.ts'
import type { Environment } from './environment.ts'
import { checkHealthCheck } from './health-check.ts'
import { checkMove } from './move.ts'
import { checkVolume } from './volume.ts'

type Input = InputOf<typeof updateAppEnv>

/**
 * Rejects changes of fixed fields. A field written back unchanged is allowed, so that an object that was read can
 * always be written back (docs/interface.md#round-trips).
 */
export function checkEnvironmentUpdate(
  input: Input,
  environment: Environment,
  app: App,
  account: AccountSettings,
  regions: readonly RegionFacts[],
  availabilities: DatabaseAvailabilities,
): void {
  const { saved } = environment
  if (input.region !== undefined && input.region !== environment.region)
    checkMove(app, environment, input.region, regions)
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
    rejectViolation(scalingViolation(app, 'manual container scaling'))
  if (app.isDatabase) {
    const preset = databasePresetOf(app.dockerPreset)
    const { containers, disk, databaseSettings } = input
    const { withPersistence } = environment
    const desiredState = { containers, disk, databaseSettings, withPersistence }
    checkDatabase(desiredState, preset, availabilities.get(preset.dockerPreset))
  }
  changedOnlyFor(app.isDatabase, 'managed databases', { disk: [input.disk, saved.disk] })
  changedOnlyFor(app.isDatabase, 'managed databases', { databaseSettings: [input.databaseSettings, {}] })
  changedOnlyFor(app.isJob, 'JOB apps', { jobConfig: [input.jobConfig, {}] })
  if (!app.isFunction && input.functionConfig !== undefined) {
    throw invalid('functionConfig is for FUNCTION apps only', 'Leave functionConfig out for this app.', 'E3')
  }
  if (input.functionConfig) checkFunctionConfig({ ...saved.functionConfig, ...input.functionConfig }, account)
  checkHealthCheck(app, input.healthCheck)
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
