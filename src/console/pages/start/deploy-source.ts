import { createAppEnv } from '../../../contract/app-envs.ts'
import { createApp } from '../../../contract/apps.ts'
import { notifyCodeUpload, requestDeployStorageKey } from '../../../contract/deployments.ts'
import { client, upload } from '../../api/client.ts'
import { packFiles } from './archive.ts'

/** Creates a function app with one environment. Returns the id of the environment. Throws `AppError`. */
export async function createSample(accountId: string, region: string): Promise<string> {
  const { appId } = await client.call(createApp, {
    name: 'Hello function',
    accountId,
    port: 8080,
    dockerPreset: 'FUNCTION',
  })
  const { appEnvId } = await client.call(createAppEnv, { accountId, appId, name: 'prod', region })
  return appEnvId
}

/** Uploads the files and deploys them. Returns the id of the new content. Throws `AppError`. */
export async function deploySource(appEnvId: string, files: Record<string, string>): Promise<string> {
  const archive = await packFiles(files)
  const { uploadUrl, storageKey } = await client.call(requestDeployStorageKey, { appEnvId })
  await upload(uploadUrl, archive)
  return (await client.call(notifyCodeUpload, { appEnvId, storageKey })).contentId
}
