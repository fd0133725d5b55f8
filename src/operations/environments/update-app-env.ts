import { isDeepStrictEqual } from 'node:util'
import { updateAppEnv } from '../../contract/app-envs.ts'
import type { InputOf } from '../../contract/operation.ts'
import { mergedSettings } from '../../domain/databases/settings.ts'
import type { Environment } from '../../domain/environments/environment.ts'
import { slugOf } from '../../domain/environments/names.ts'
import { checkEnvironmentUpdate } from '../../domain/environments/update.ts'
import { replacedVariables } from '../../domain/environments/variables.ts'
import { checkVolumeContainers, withVolume } from '../../domain/environments/volume.ts'
import { changedJobConfig, jobConfigWarnings } from '../../domain/jobs/config.ts'
import { handler } from '../core/handler.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { changeRegion } from './change-region.ts'
import { setContainers } from './set-containers.ts'
import { updateImpact } from './update-impact.ts'
import { storeVariables } from './variable-references.ts'

type Input = InputOf<typeof updateAppEnv>

/** 3.3: changes are saved as pending, except the name and the containers of an app, which change immediately. */
export default handler(updateAppEnv, async (context, input, target) => {
  const { app, account, environment } = target
  const { installation } = context
  checkEnvironmentUpdate(
    input,
    environment,
    app,
    account.settings,
    installation.regions(),
    installation.databaseAvailability(environment.region),
  )
  const draft = draftOf(environment)
  applyInput(input, draft, app)
  if (input.envVars !== undefined) {
    const { envVars } = environment.saved
    const wanted = replacedVariables(envVars, input.envVars)
    draft.saved.envVars = await storeVariables(context, target, draft, envVars, wanted)
  }
  checkVolumeContainers(draft)
  const effects: string[] = []
  if (!isDeepStrictEqual(draft.saved, environment.saved))
    effects.push(
      'Saved as pending changes; they take effect at apply-app-env-changes or the next deployment.',
    )
  if (input.jobConfig !== undefined) effects.push(...jobConfigWarnings(app.jobConfig, draft.saved.jobConfig))
  effects.push(...protectionEffects(environment, draft))
  const { containers } = input
  if (!app.isDatabase && containers !== undefined && containers !== environment.saved.containers)
    effects.push(`${await setContainers(context, draft, app, containers)}, immediately.`)
  if (input.region !== undefined && input.region !== environment.region)
    effects.push(await changeRegion(context, draft, input.region))
  const change = await saveChange(context, target, draft)
  return {
    answer: { appEnvId: draft.appEnvId },
    change,
    impact: await updateImpact(context, target, draft),
    effects,
    wake: [draft.appEnvId],
  }
})

function applyInput(
  input: Input,
  draft: Environment,
  { isFunction, isDatabase }: { isFunction: boolean; isDatabase: boolean },
): void {
  const { saved } = draft
  if (input.name !== undefined && input.name !== draft.name) {
    draft.name = input.name
    draft.slug = slugOf(input.name, 'env')
  }
  if (input.labels !== undefined) draft.labels = [...new Set(input.labels)]
  draft.protected = input.protected ?? draft.protected
  if (input.branch !== undefined) saved.branch = input.branch
  if (input.zClouds !== undefined) saved.zClouds = input.zClouds
  if (input.disk !== undefined) saved.disk = input.disk
  if (isDatabase && input.containers !== undefined) saved.containers = input.containers
  if (input.databaseSettings !== undefined) {
    saved.databaseSettings = mergedSettings(saved.databaseSettings, input.databaseSettings)
  }
  if (isFunction && input.functionConfig !== undefined) {
    saved.functionConfig = { ...saved.functionConfig, ...input.functionConfig }
  }
  if (input.jobConfig !== undefined) saved.jobConfig = changedJobConfig(saved.jobConfig, input.jobConfig)
  if (input.healthCheck !== undefined) saved.healthCheck = input.healthCheck
  if (Object.keys(saved.healthCheck ?? {}).length === 0) delete saved.healthCheck
  draft.saved = withVolume(saved, input)
}

function protectionEffects(before: Environment, after: Environment): string[] {
  const effects = []
  if (!isDeepStrictEqual(before.labels, after.labels))
    effects.push(`Labels from now on: ${after.labels.join(', ') || 'none'}.`)
  if (before.protected !== after.protected)
    effects.push(
      after.protected ? 'Protected from now on.' : 'Not protected any more: policies may allow more.',
    )
  return effects
}
