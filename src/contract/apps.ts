import { z } from 'zod'
import {
  accountId,
  appId,
  dockerPreset,
  expectedRevision,
  gitName,
  id,
  image,
  isoTime,
  line,
  message,
  processText,
  revision,
  sourcePath,
} from './fields.ts'
import { effectiveHealthCheck, healthCheck } from './health.ts'
import { jobConfig, jobConfigRead } from './job-config.ts'
import { operation } from './operation.ts'

const port = z.number().int().min(1).max(65_535)

export const createApp = operation({
  id: 'create-app',
  method: 'POST',
  path: '/app',
  summary:
    'Creates an app. dockerPreset FUNCTION makes a function, JOB a job, a database preset a managed database.',
  policy: { on: 'account' },
  input: z.strictObject({
    name: line(100).describe('App name'),
    accountId,
    port: port.optional().describe('Port the code listens on'),
    dockerPreset: dockerPreset.default('CUSTOM'),
    useImage: z.boolean().optional(),
    image: image.optional(),
    isCliDeployment: z.boolean().default(false),
    gitNamespace: gitName(100).optional(),
    gitRepo: gitName(200).optional(),
    contextDir: sourcePath.optional(),
    dockerfilePath: sourcePath.optional(),
    customDockerfileContent: processText(65_536).optional(),
    jobConfig: jobConfig.optional(),
    healthCheck: healthCheck.optional(),
  }),
  output: z.object({ appId: z.string() }),
})

const app = z.object({
  appId: z.string(),
  accountId: z.string(),
  name: z.string(),
  slug: z.string(),
  port: z.number().nullable(),
  dockerPreset,
  useImage: z.boolean(),
  image: z.string().nullable(),
  isCliDeployment: z.boolean(),
  gitNamespace: z.string().nullable(),
  gitRepo: z.string().nullable(),
  contextDir: z.string().nullable(),
  dockerfilePath: z.string().nullable(),
  customDockerfileContent: z.string().nullable(),
  jobConfig: jobConfigRead.nullable(),
  healthCheck: healthCheck.optional(),
  isFunction: z.boolean(),
  isDatabase: z.boolean(),
  isJob: z.boolean(),
  createdAt: isoTime,
  revision,
})
export type App = z.output<typeof app>

export const getApp = operation({
  id: 'get-app',
  method: 'GET',
  path: '/app',
  summary: 'Reads one app.',
  policy: { on: 'app' },
  input: z.strictObject({ appId }),
  output: app.extend({ effectiveHealthCheck: effectiveHealthCheck.optional() }),
})

export const listApps = operation({
  id: 'list-apps',
  method: 'GET',
  path: '/apps',
  summary: 'Lists the apps of an account that the caller can see.',
  policy: { on: 'account' },
  input: z.strictObject({ accountId: id.describe('Account id') }),
  output: z.object({ apps: z.array(app) }),
})

export const updateApp = operation({
  id: 'update-app',
  method: 'PATCH',
  path: '/app',
  summary: 'Changes how an app is built and run; the next deployment of each environment uses it.',
  policy: { on: 'app' },
  input: z.strictObject({
    appId,
    name: line(100).optional(),
    port: port.optional(),
    dockerPreset: dockerPreset.optional(),
    useImage: z.boolean().optional(),
    image: image.optional(),
    contextDir: sourcePath.nullable().optional(),
    dockerfilePath: sourcePath.nullable().optional(),
    customDockerfileContent: processText(65_536).nullable().optional(),
    expectedRevision,
  }),
  output: z.object({ ...message, app }),
})

export const deleteApp = operation({
  id: 'delete-app',
  method: 'DELETE',
  path: '/app',
  summary: 'Deletes an app that has no environments left.',
  policy: { on: 'app' },
  input: z.strictObject({ appId, expectedRevision }),
  output: z.object(message),
})
