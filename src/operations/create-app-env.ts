import { createAppEnv } from '../contract/app-envs.ts'
import type { InputOf } from '../contract/operation.ts'
import { usesGitHost } from '../domain/app.ts'
import { autoscalingDefaults } from '../domain/autoscaling.ts'
import { databasePresetOf } from '../domain/database-presets.ts'
import { type Environment, type Settings, zCloudSize } from '../domain/environment.ts'
import { newId } from '../domain/ids.ts'
import { withoutEmpty } from '../domain/job-config.ts'
import { environmentHostName, slugOf, withSuffix } from '../domain/names.ts'
import { checkNewEnvironment } from '../domain/new-environment.ts'
import { replacedVariables } from '../domain/variables.ts'
import { withVolume } from '../domain/volume.ts'
import { AppError } from '../errors.ts'
import { updateMembership } from '../store/accounts.ts'
import { environmentNameTaken, insertEnvironment } from '../store/environments.ts'
import type { AppTarget } from './access-targets.ts'
import { checkAccountSize, environmentSize } from './change-environment.ts'
import { deployDatabase } from './deploy-database.ts'
import { type Context, handler } from './handler.ts'
import { isRestricted } from './reach.ts'
import { sealVariables } from './seal-variables.ts'

type Input = InputOf<typeof createAppEnv>

export default handler(createAppEnv, async (context, input, target) => {
  const { tx, now, caller, installation } = context
  const { app, account, membership } = target
  checkNewEnvironment(input, app, account.settings, installation.regions(), installation.databaseOffers())
  const environment = await newEnvironment(context, input, target)
  if (app.isDatabase) await deployDatabase(context, environment, app.dockerPreset)
  const size = environmentSize(environment, app, account)
  await checkAccountSize(context, account, null, size)
  await insertEnvironment(tx, environment, size)
  if (caller.kind === 'user' && isRestricted(account, membership)) {
    // M4: what a restricted member creates is added to that member's list.
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
    },
    effects: [
      `Creates ${environment.cliEnvName} in ${environment.region} (made ${now}). ${firstStep(context, environment, app)}`,
    ],
    wake: [environment.appEnvId],
  }
})

function firstStep(context: Context, environment: Environment, app: AppTarget['app']): string {
  if (!app.isDatabase) return 'Nothing runs until it is deployed.'
  const preset = databasePresetOf(app.dockerPreset)
  const offer = context.installation.databaseOffers(environment.region).get(preset.dockerPreset)
  if (!offer?.available) return `It cannot run here: ${offer?.unavailableReason ?? 'not known yet.'}`
  return `${preset.name} ${environment.dockerPresetVersion} starts at once.`
}

async function newEnvironment(context: Context, input: Input, { app }: AppTarget): Promise<Environment> {
  const preset = app.isDatabase ? databasePresetOf(app.dockerPreset) : null
  const appEnvId = newId('env')
  const slug = slugOf(input.name, 'env')
  const settings: Settings = withVolume(
    {
      zClouds: input.zClouds,
      branch: usesGitHost(app) ? (input.branch ?? '') : '',
      containers: input.containers ?? 1,
      disk: input.disk ?? preset?.limits.defaultDisk ?? input.zClouds * zCloudSize.diskMb,
      envVars: sealVariables(context.secrets, appEnvId, [], replacedVariables([], input.envVars ?? [])),
      functionConfig: input.functionConfig ?? {},
      jobConfig: withoutEmpty(input.jobConfig ?? {}),
      databaseSettings: input.databaseSettings ?? {},
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
    region: input.region,
    status: 'STOPPED',
    wish: 'stopped',
    saved: settings,
    applied: structuredClone(settings),
    autoscaling: { ...autoscalingDefaults },
    dockerPresetVersion: preset && (input.dockerPresetVersion ?? preset.defaultVersion),
    withPersistence: input.withPersistence ?? (preset !== null && preset.persistence !== 'none'),
    wantedRolloutId: null,
    currentRolloutId: null,
    latestRolloutId: null,
    currentVersion: null,
    nextVersion: 1,
    changingRegion: false,
    createdBy: context.caller.kind === 'user' ? context.caller.userId : null,
    createdAt: context.now,
    updatedAt: context.now,
    revision: 1,
  }
}

/** `envName` is unique in the whole installation; a made one gets a suffix on a clash (contract.md 1). */
async function chooseName(context: Context, given: string | undefined, made: string): Promise<string> {
  if (given === undefined) return (await environmentNameTaken(context.tx, made)) ? withSuffix(made) : made
  if (await environmentNameTaken(context.tx, given)) {
    throw new AppError('invalid', 'cliEnvName is taken', {
      details: 'Choose another one, or leave it out and one is made.',
    })
  }
  return given
}
