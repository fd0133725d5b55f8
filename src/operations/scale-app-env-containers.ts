import { scaleAppEnvContainers } from '../contract/app-env-actions.ts'
import { databasePresetOf } from '../domain/database-presets.ts'
import { checkDatabase } from '../domain/database-settings.ts'
import { checkScalable } from '../domain/scalable.ts'
import { checkVolumeContainers } from '../domain/volume.ts'
import { changeWantedSettings, noteActivity } from './begin-rollout.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { acted } from './environment-answers.ts'
import { handler } from './handler.ts'

export default handler(scaleAppEnvContainers, async (context, input, target) => {
  const { app, environment } = target
  checkScalable(app, 'manual container scaling')
  if (app.isDatabase) {
    const preset = databasePresetOf(app.dockerPreset)
    const offer = context.installation.databaseOffers(environment.region).get(preset.dockerPreset)
    checkDatabase({ containers: input.containers }, preset, offer)
  }
  const draft = draftOf(environment)
  const before = draft.saved.containers
  draft.saved.containers = input.containers
  checkVolumeContainers(draft)
  if (!app.isDatabase) {
    draft.applied.containers = input.containers
    await changeWantedSettings(context, draft, { containers: input.containers })
  }
  await noteActivity(context, draft.appEnvId, {
    activity: 'SCALE',
    status: 'DONE',
    version: draft.currentVersion,
    details: `${before} to ${input.containers} containers`,
  })
  const change = await saveChange(context, target, draft)
  const message = app.isDatabase
    ? `Saved as pending: ${before} to ${input.containers} container(s) at apply-app-env-changes or redeploy-app-env`
    : `Scaling from ${before} to ${input.containers} container(s)`
  return {
    answer: { ...acted(draft, message), containers: input.containers },
    change,
    effects: [`${message}.`],
    wake: [draft.appEnvId],
  }
})
