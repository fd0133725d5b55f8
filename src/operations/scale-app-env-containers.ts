import { scaleAppEnvContainers } from '../contract/app-envs.ts'
import { checkScalable } from '../domain/scalable.ts'
import { AppError } from '../errors.ts'
import { noteActivity } from './begin-rollout.ts'
import { draftOf, saveChange } from './change-environment.ts'
import { acted } from './environment-answers.ts'
import { handler } from './handler.ts'

export default handler(scaleAppEnvContainers, async (context, input, target) => {
  const { app, environment } = target
  checkScalable(app, 'manual container scaling')
  if (environment.useVolume && input.containers > 1) {
    throw new AppError('invalid', 'An environment with a volume has one container', {
      details: 'The volume can be mounted once. Keep 1, or create an environment without useVolume.',
    })
  }
  const draft = draftOf(environment)
  const before = draft.saved.containers
  draft.saved.containers = input.containers
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
