import { scaleAppEnvContainers } from '../contract/app-env-actions.ts'
import { databasePresetOf } from '../domain/database-presets.ts'
import { checkDatabase } from '../domain/database-settings.ts'
import { checkScalable } from '../domain/scalable.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { acted } from './environment-answers.ts'
import { handler } from './handler.ts'
import { setContainers } from './set-containers.ts'

export default handler(scaleAppEnvContainers, async (context, input, target) => {
  const { app, environment } = target
  checkScalable(app, 'manual container scaling')
  if (app.isDatabase) {
    const preset = databasePresetOf(app.dockerPreset)
    const offer = context.installation.databaseOffers(environment.region).get(preset.dockerPreset)
    const { withPersistence } = environment
    checkDatabase({ containers: input.containers, withPersistence }, preset, offer)
  }
  const draft = draftOf(environment)
  const message = await setContainers(context, draft, app, input.containers)
  const change = await saveChange(context, target, draft)
  return {
    answer: { ...acted(draft, message), containers: input.containers },
    change,
    effects: [`${message}.`],
    wake: [draft.appEnvId],
  }
})
