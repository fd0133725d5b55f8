import { z } from 'zod'
import {
  environmentRef,
  environmentResponse,
  expectedRevision,
  id,
  image,
  includeChangesOf,
  isoTime,
} from './fields.ts'
import { heldChanges } from './held-changes.ts'
import { operation } from './operation.ts'

const deployed = { ...environmentResponse, contentId: z.string(), version: z.number(), heldChanges }

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
    includeChangesOf,
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
  input: z.strictObject({ ...environmentRef, image, includeChangesOf, expectedRevision }),
  output: z.object(deployed),
})

const version = z.number().int().min(1).max(2_147_483_647)

const changedVariable = z.object({ name: z.string(), change: z.enum(['added', 'removed', 'changed']) })

export const redeployAppEnv = operation({
  id: 'redeploy-app-env',
  method: 'POST',
  path: '/app-env/redeploy',
  summary:
    'Deploys the last good content again, or an earlier version (rollback), with the variables and settings that it ran with. Pending changes stay pending.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    version: version.optional(),
    rolloutId: id
      .optional()
      .describe('The deployment of the version whose settings return; default its last'),
    settings: z
      .enum(['of-version', 'saved'])
      .optional()
      .describe('saved: also puts all pending changes in force'),
    keepSecrets: z.boolean().optional().describe('Keeps the present values of secrets that changed since'),
    includeChangesOf,
    expectedRevision,
  }),
  output: z.object({
    ...deployed,
    settings: z.enum(['of-version', 'saved']),
    /** What differs from the settings in force before, by name only. */
    variables: z.array(changedVariable),
    changedSettings: z.array(z.string()),
    /** Secrets whose values changed since the version ran: set back, or kept with keepSecrets. */
    changedSecrets: z.array(z.string()),
    /** Fields and variables that stay pending. */
    pending: z.array(z.string()),
    /** What serves until the new containers do; null if nothing does. */
    servingVersion: z.number().nullable(),
  }),
})

export const cancelDeployment = operation({
  id: 'cancel-deployment',
  method: 'POST',
  path: '/app-env/cancel-deployment',
  summary:
    'Cancels the deployment that is under way: it ends as FAILED, and the version before keeps serving. Without one, the environment stops.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    contentId: id.optional().describe('Reject if another version is being deployed'),
    expectedRevision,
  }),
  output: z.object({
    ...environmentResponse,
    /** What was canceled; null if nothing was under way. */
    contentId: z.string().nullable(),
    version: z.number().nullable(),
    servingVersion: z.number().nullable(),
  }),
})

const comparedVersion = z.object({
  version: z.number(),
  contentId: z.string(),
  type: z.enum(['BUILD', 'IMAGE']),
  image: z.string().nullable(),
  gitBranch: z.string().nullable(),
  gitCommitId: z.string().nullable(),
  createdAt: isoTime,
})

export const compareAppEnvVersions = operation({
  id: 'compare-app-env-versions',
  method: 'GET',
  path: '/app-env/version-changes',
  summary: 'Compares two versions: source or image, and the settings each was deployed with last.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, from: version, to: version }),
  output: z.object({
    appEnvId: z.string(),
    from: comparedVersion,
    to: comparedVersion,
    changes: z.array(z.object({ path: z.string(), before: z.unknown(), after: z.unknown() })),
    /** By name only: values are never part of a comparison. */
    variables: z.array(changedVariable),
  }),
  peopleOnly: true,
})
