import { notifyCodeUpload } from '../../contract/deployments.ts'
import { AppError } from '../../errors.ts'
import { findEnvironment } from '../../store/repositories/environments.ts'
import { findUpload, moveUpload, type Upload } from '../../store/repositories/uploads.ts'
import type { EnvironmentTarget } from '../core/access-targets.ts'
import { type Context, handler } from '../core/handler.ts'
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

export default handler(notifyCodeUpload, async (context, input, target) => {
  const upload = await takeUpload(context, input.storageKey, target)
  const draft = draftOf(target.environment)
  const content = await addContent(context, target.app, draft, {
    type: 'BUILD',
    image: null,
    uploadId: upload.uploadId,
    gitCommitId: input.gitCommitId ?? null,
  })
  const toDeploy = await settingsToDeploy(context, target, draft, input.includeChangesOf)
  requireComplete(target, draft, toDeploy)
  const { settings } = toDeploy
  const impact = await rolloutImpact(context, target, ['deploy'], { settings })
  await beginRollout(context, draft, content, { settings, activity: 'DEPLOY_SOURCE' })
  const change = await saveChange(context, target, draft)
  return {
    answer: {
      ...environmentResponse(
        draft,
        [
          `Building version ${content.version}; get-app-env-status shows when it serves`,
          ...heldText(toDeploy),
        ].join('. '),
      ),
      contentId: content.contentId,
      version: content.version,
      ...heldResponse(toDeploy),
    },
    change,
    impact,
    effects: [
      `Builds the upload as version ${content.version} and deploys it${downtimeText(impact)}.`,
      ...appliedText(impact),
      ...heldText(toDeploy),
    ],
    wake: [draft.appEnvId],
  }
})

async function takeUpload(context: Context, storageKey: string, target: EnvironmentTarget): Promise<Upload> {
  const upload = await findUpload(context.tx, { uploadId: storageKey })
  if (upload && upload.appEnvId !== target.environment.appEnvId) {
    const other = await findEnvironment(context.tx, { appEnvId: upload.appEnvId })
    if (other?.accountId === target.environment.accountId) {
      throw new AppError('forbidden', 'This storage key belongs to another environment', {
        details: 'Call request-deploy-storage-key for this environment and upload there.',
      })
    }
  } else if (upload && (await moveUpload(context.tx, storageKey, 'uploaded', 'used'))) {
    return upload
  } else if (upload?.state === 'used') {
    throw new AppError('invalid', 'This storage key was used before', {
      details: 'Each upload deploys once. Request a new key, or use redeploy-app-env for an earlier version.',
    })
  }
  throw new AppError('invalid', 'No archive was uploaded under this storage key', {
    details:
      'PUT the archive to the uploadUrl that came with the key, within 15 minutes, then call this again.',
  })
}
