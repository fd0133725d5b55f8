import { deployAppEnvImage } from '../../contract/deployments.ts'
import { AppError } from '../../errors.ts'
import { handler } from '../core/handler.ts'
import { draftOf, saveChange } from '../environments/change-environment.ts'
import { appliedText, downtimeText, rolloutImpact } from '../environments/container-impact.ts'
import { environmentResponse } from '../environments/responses.ts'
import {
  heldResponse,
  heldText,
  requireComplete,
  settingsToDeploy,
} from '../environments/settings-to-deploy.ts'
import { addContent, beginRollout } from './begin-rollout.ts'

export default handler(deployAppEnvImage, async (context, input, target) => {
  const { app } = target
  if (app.isDatabase) {
    throw new AppError('invalid', 'A managed database cannot deploy an image', {
      details: 'Its image comes from dockerPresetVersion.',
      rule: 'D4',
    })
  }
  if (!app.isFunction && !app.useImage) {
    throw new AppError('invalid', 'The app does not use images', {
      details: 'Set useImage with update-app to deploy images, or deploy its source.',
    })
  }
  const draft = draftOf(target.environment)
  const content = await addContent(context, app, draft, {
    type: 'IMAGE',
    image: input.image,
    uploadId: null,
    gitCommitId: null,
  })
  const toDeploy = await settingsToDeploy(context, target, draft, input.includeChangesOf)
  requireComplete(target, draft, toDeploy)
  const { settings } = toDeploy
  const impact = await rolloutImpact(context, target, ['deploy'], { settings })
  await beginRollout(context, draft, content, { settings, activity: 'DEPLOY_IMAGE' })
  const change = await saveChange(context, target, draft)
  return {
    answer: {
      ...environmentResponse(
        draft,
        [`Deploying the image as version ${content.version}`, ...heldText(toDeploy)].join('. '),
      ),
      contentId: content.contentId,
      version: content.version,
      ...heldResponse(toDeploy),
    },
    change,
    impact,
    effects: [
      `Pulls ${input.image} and deploys it as version ${content.version}${downtimeText(impact)}.`,
      ...appliedText(impact),
      ...heldText(toDeploy),
    ],
    wake: [draft.appEnvId],
  }
})
