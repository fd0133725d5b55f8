import { scaleAppEnvContainers } from '../../contract/app-env-actions.ts'
import { scalingViolation } from '../../contract/rules.ts'
import { databasePresetOf } from '../../domain/databases/presets.ts'
import { checkDatabase } from '../../domain/databases/settings.ts'
import { rejectViolation } from '../../errors.ts'
import { handler } from '../core/handler.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { scaleImpact } from './container-impact.ts'
import { environmentResponse } from './responses.ts'
import { setContainers } from './set-containers.ts'

export default handler(scaleAppEnvContainers, async (context, input, target) => {
  const { app, environment } = target
  rejectViolation(scalingViolation(app, 'manual container scaling'))
  if (app.isDatabase) {
    const preset = databasePresetOf(app.dockerPreset)
    const availability = context.installation
      .databaseAvailability(environment.region)
      .get(preset.dockerPreset)
    const { withPersistence } = environment
    checkDatabase({ containers: input.containers, withPersistence }, preset, availability)
  }
  const draft = draftOf(environment)
  const message = await setContainers(context, draft, app, input.containers)
  const change = await saveChange(context, target, draft)
  return {
    answer: { ...environmentResponse(draft, message), containers: input.containers },
    change,
    impact: await scaleImpact(context, target, draft),
    effects: [`${message}.`],
    wake: [draft.appEnvId],
  }
})
