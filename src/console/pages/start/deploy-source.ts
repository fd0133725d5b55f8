import { createAppEnv, listAppEnvs } from '../../../contract/app-envs.ts'
import { createApp, listApps } from '../../../contract/apps.ts'
import { notifyCodeUpload, requestDeployStorageKey } from '../../../contract/deployments.ts'
import { client, upload } from '../../api/client.ts'
import { packFiles } from './archive.ts'

const sampleName = 'Hello function'

/** Creates a function app with one environment. Returns the id of the environment. Throws `AppError`. */
export async function createSample(accountId: string, region: string): Promise<string> {
  const { appId } = await client.call(createApp, {
    name: sampleName,
    accountId,
    port: 8080,
    dockerPreset: 'FUNCTION',
  })
  const { appEnvId } = await client.call(createAppEnv, { accountId, appId, name: 'prod', region })
  return appEnvId
}

/** The environment of a sample that was created before, on an earlier visit to the page; null if there is none. */
export async function findSample(accountId: string): Promise<string | null> {
  const { apps } = await client.call(listApps, { accountId })
  const app = apps.find(({ name, dockerPreset }) => name === sampleName && dockerPreset === 'FUNCTION')
  if (!app) return null
  const { appEnvs } = await client.call(listAppEnvs, { appId: app.appId, limit: 1 })
  return appEnvs[0]?.appEnvId ?? null
}

/** Uploads the files and deploys them. Returns the id of the new content. Throws `AppError`. */
export async function deploySource(appEnvId: string, files: Record<string, string>): Promise<string> {
  const archive = await packFiles(files)
  const { uploadUrl, storageKey } = await client.call(requestDeployStorageKey, { appEnvId })
  await upload(uploadUrl, archive)
  return (await client.call(notifyCodeUpload, { appEnvId, storageKey })).contentId
}
