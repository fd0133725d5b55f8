import { scaleAppEnvContainers } from '../contract/app-envs.ts'
import { checkScalable } from '../domain/scalable.ts'
import { checkVolumeContainers } from '../domain/volume.ts'
import { noteActivity } from './begin-rollout.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { acted } from './environment-answers.ts'
import { handler } from './handler.ts'

export default handler(scaleAppEnvContainers, async (context, input, target) => {
  const { app, environment } = target
  checkScalable(app, 'manual container scaling')
  const draft = draftOf(environment)
  const before = draft.saved.containers
  draft.saved.containers = input.containers
  checkVolumeContainers(draft)
  if (!app.isDatabase) draft.applied.containers = input.containers
  await noteActivity(context, draft.appEnvId, {
    activity: 'SCALE',
    status: 'DONE',
    version: draft.currentVersion,
    details: `${before} to ${input.containers} containers`,
  })
  const change = await saveChange(context, target, draft)
  return {
    answer: {
      ...acted(draft, `Scaling from ${before} to ${input.containers} container(s)`),
      containers: input.containers,
    },
    change,
    effects: [`Scales from ${before} to ${input.containers} container(s).`],
    wake: [draft.appEnvId],
  }
})
