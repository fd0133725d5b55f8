import { z } from 'zod'
import { acted, environmentRef, expectedRevision, image } from './fields.ts'
import { operation } from './operation.ts'

const deployed = { ...acted, contentId: z.string(), version: z.number() }

export const requestDeployStorageKey = operation({
  id: 'request-deploy-storage-key',
  method: 'POST',
  path: '/app-env/request-storage-key',
  summary:
    'First step of a deploy from source: PUT the archive once to uploadUrl, then call notify-code-upload.',
  policy: { on: 'environment', environmentToken: true },
  input: z.strictObject({
    ...environmentRef,
    fileExtension: z.enum(['.tgz', '.tar.gz', '.zip']).default('.tgz'),
    expectedRevision,
  }),
  output: z.object({
    uploadUrl: z.string(),
    storageKey: z.string(),
    envUrl: z.string(),
    expiresAt: z.string(),
  }),
  answersCapability: true,
})

export const notifyCodeUpload = operation({
  id: 'notify-code-upload',
  method: 'POST',
  path: '/app-env/notify-upload',
  summary: 'Builds the uploaded source from its Dockerfile and deploys it.',
  policy: { on: 'environment', environmentToken: true },
  input: z.strictObject({
    ...environmentRef,
    storageKey: z.string().min(1).max(128),
    gitCommitId: z
      .string()
      .regex(/^[0-9a-fA-F]{7,64}$/, 'must be a commit hash')
      .optional(),
    expectedRevision,
  }),
  output: z.object(deployed),
})

export const deployAppEnvImage = operation({
  id: 'deploy-app-env-image',
  method: 'POST',
  path: '/app-env/deploy-image',
  summary: 'Deploys a prebuilt container image. Apps need useImage; functions do not.',
  policy: { on: 'environment', environmentToken: true },
  input: z.strictObject({ ...environmentRef, image, expectedRevision }),
  output: z.object(deployed),
})

export const redeployAppEnv = operation({
  id: 'redeploy-app-env',
  method: 'POST',
  path: '/app-env/redeploy',
  summary: 'Deploys the current content again, or an earlier version (rollback).',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    version: z.number().int().min(1).max(2_147_483_647).optional(),
    expectedRevision,
  }),
  output: z.object(deployed),
})
