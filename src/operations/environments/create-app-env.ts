import { autoscalingDefaults, createAppEnv } from '../../contract/app-envs.ts'
import type { InputOf } from '../../contract/operation.ts'
import { isRestricted } from '../../domain/access/environment-access.ts'
import { usesGitHost } from '../../domain/apps/app.ts'
import { databasePresetOf, defaultVersion } from '../../domain/databases/presets.ts'
import { deepCopy } from '../../domain/deep-copy.ts'
import { checkNewEnvironment } from '../../domain/environments/creation.ts'
import { type Environment, type Settings, zCloudSize } from '../../domain/environments/environment.ts'
import { environmentHostName, slugOf, withSuffix } from '../../domain/environments/names.ts'
import { replacedVariables } from '../../domain/environments/variables.ts'
import { withVolume } from '../../domain/environments/volume.ts'
import { newId } from '../../domain/ids.ts'
import { withoutEmpty } from '../../domain/jobs/config.ts'
import { AppError } from '../../errors.ts'
import { updateMembership } from '../../store/repositories/accounts.ts'
import { environmentNameTaken, insertEnvironment } from '../../store/repositories/environments.ts'
import type { AppTarget } from '../core/access-targets.ts'
import { type Context, handler } from '../core/handler.ts'
import { userIdOrNull } from '../core/user-of.ts'
import { deployDatabase } from '../databases/deploy-database.ts'
import { checkAccountSize, environmentSize } from './change-environment.ts'
import { checkSavedVariables } from './seal-variables.ts'
import { followReferences, storeVariables } from './variable-references.ts'

type Input = InputOf<typeof createAppEnv>

export default handler(createAppEnv, async (context, input, target) => {
  const { tx, now, caller, installation } = context
  const { app, account, membership } = target
  const availabilities = installation.databaseAvailability(input.region)
  checkNewEnvironment(input, app, account.settings, installation.regions(), availabilities)
  const environment = await newEnvironment(context, input, target)
  checkSavedVariables(null, environment)
  if (app.isDatabase) await deployDatabase(context, environment, app)
  const size = environmentSize(environment, app, account)
  await checkAccountSize(context, target, null, size)
  await insertEnvironment(tx, environment, size)
  await followReferences(context, target, null, environment)
  const starts = runsAtOnce(context, environment, app)
  const { allowedAppEnvIds } = membership
  if (caller.kind === 'user' && isRestricted(account, { allowedAppEnvIds })) {
    // M4: an environment that a restricted member creates is added to their list.
    membership.allowedAppEnvIds.push(environment.appEnvId)
    membership.revision += 1
    await updateMembership(tx, membership)
  }
  return {
    answer: { appEnvId: environment.appEnvId },
    change: {
      objectType: 'app-env',
      objectId: environment.appEnvId,
      accountId: account.accountId,
      before: null,
      after: environment,
      zCloudsDelta: size,
    },
    impact: {
      actions: starts ? ['create-object', 'deploy'] : ['create-object'],
      containersStarted: starts ? environment.applied.containers : 0,
    },
    effects: [
      `Creates ${environment.cliEnvName} in ${environment.region} (made ${now}). ${firstStep(context, environment, app)}`,
    ],
    wake: [environment.appEnvId],
  }
})

/** A database needs no deployment. */
function runsAtOnce(context: Context, { region }: Environment, app: AppTarget['app']): boolean {
  if (!app.isDatabase) return false
  const { dockerPreset } = databasePresetOf(app.dockerPreset)
  return context.installation.databaseAvailability(region).get(dockerPreset)?.available === true
}

function firstStep(context: Context, environment: Environment, app: AppTarget['app']): string {
  if (!app.isDatabase) return 'It runs after the first deployment.'
  const preset = databasePresetOf(app.dockerPreset)
  const availability = context.installation.databaseAvailability(environment.region).get(preset.dockerPreset)
  if (!availability?.available)
    return `It cannot run here: ${availability?.unavailableReason ?? 'not known yet.'}`
  return `${preset.name} ${environment.dockerPresetVersion} starts immediately.`
}

async function newEnvironment(context: Context, input: Input, target: AppTarget): Promise<Environment> {
  const { app } = target
  const preset = app.isDatabase ? databasePresetOf(app.dockerPreset) : null
  const availability =
    preset && context.installation.databaseAvailability(input.region).get(preset.dockerPreset)
  const appEnvId = newId('env')
  const slug = slugOf(input.name, 'env')
  const place = { appEnvId, accountId: app.accountId, region: input.region }
  const wanted = replacedVariables([], input.envVars ?? [])
  const settings: Settings = withVolume(
    {
      zClouds: input.zClouds,
      branch: usesGitHost(app) ? (input.branch ?? '') : '',
      containers: input.containers ?? 1,
      disk: input.disk ?? preset?.limits.defaultDisk ?? input.zClouds * zCloudSize.diskMb,
      envVars: await storeVariables(context, target, place, [], wanted),
      functionConfig: input.functionConfig ?? {},
      jobConfig: withoutEmpty(input.jobConfig ?? {}),
      databaseSettings: input.databaseSettings ?? {},
      ...(input.healthCheck && { healthCheck: input.healthCheck }),
      useVolume: false,
      mountPath: null,
    },
    input,
  )
  return {
    appEnvId,
    appId: app.appId,
    accountId: app.accountId,
    name: input.name,
    slug,
    cliEnvName: await chooseName(context, input.cliEnvName, environmentHostName(app.slug, slug)),
    labels: [...new Set(input.labels)],
    protected: input.protected ?? false,
    region: input.region,
    status: 'STOPPED',
    desiredState: 'stopped',
    saved: settings,
    applied: deepCopy(settings),
    autoscaling: { ...autoscalingDefaults },
    dockerPresetVersion:
      preset && (input.dockerPresetVersion ?? defaultVersion(preset, availability ?? undefined)),
    withPersistence: input.withPersistence ?? (preset !== null && preset.persistence !== 'none'),
    wantedRolloutId: null,
    currentRolloutId: null,
    latestRolloutId: null,
    currentVersion: null,
    nextVersion: 1,
    changingRegion: false,
    createdBy: userIdOrNull(context.caller),
    createdAt: context.now,
    updatedAt: context.now,
    revision: 1,
  }
}

/** A generated `envName` gets a suffix when it is taken (docs/interface.md#naming-an-environment). */
async function chooseName(context: Context, given: string | undefined, made: string): Promise<string> {
  if (given === undefined) return (await environmentNameTaken(context.tx, made)) ? withSuffix(made) : made
  if (await environmentNameTaken(context.tx, given)) {
    throw new AppError('invalid', 'cliEnvName is taken', {
      details: 'Choose another one, or omit it to get a generated one.',
    })
  }
  return given
}
