import { updateApp } from '../../contract/apps.ts'
import type { InputOf } from '../../contract/operation.ts'
import type { AppRecord } from '../../domain/apps/app-settings.ts'
import { isFunction } from '../../domain/apps/presets.ts'
import { handler } from '../core/handler.ts'
import { saveApp } from './change-app.ts'

export default handler(updateApp, async (context, input, target) => {
  const { app: before } = target
  const { app, change, impact, effect } = await saveApp(context, target, before, changed(before, input))
  return {
    answer: { message: `App ${app.appId} changed. ${effect} redeploy-app-env deploys it now.`, app },
    change,
    impact,
    effects: [`Changes app ${app.appId}. ${effect}`],
  }
})

/** What excludes each other takes the place of the other: a Dockerfile's path and its text, an image and source. */
function changed(
  before: AppRecord,
  { appId: _id, expectedRevision: _revision, ...input }: InputOf<typeof updateApp>,
): AppRecord {
  const draft = { ...before, ...input }
  if (input.dockerfilePath && input.customDockerfileContent === undefined)
    draft.customDockerfileContent = null
  if (input.customDockerfileContent && input.dockerfilePath === undefined) draft.dockerfilePath = null
  if (input.image && input.useImage === undefined) draft.useImage ||= !isFunction(draft.dockerPreset)
  if (input.useImage === false && input.image === undefined) draft.image = null
  return draft
}
