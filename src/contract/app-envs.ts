import { z } from 'zod'
import {
  accountId,
  acted,
  appId,
  branch,
  dockerPreset,
  environmentRef,
  environmentStatuses,
  expectedRevision,
  isoTime,
  line,
  message,
  revision,
  zClouds,
} from './fields.ts'
import { functionConfig, functionConfigFields, functionConfigRead } from './function-config.ts'
import { effectiveJobConfig, jobConfig, jobConfigRead } from './job-config.ts'
import { operation } from './operation.ts'
import { envVarChange, envVarRead, envVars, variableName } from './variables.ts'

export const hostKinds = ['http', 'function', 'internal', 'amqp', 'mqtt', 'management', 'native'] as const
export const host = z.object({ host: z.string(), url: z.string(), kind: z.enum(hostKinds) })
export type Host = z.output<typeof host>

export const pendingChanges = z.object({
  hasBuildChanges: z.boolean(),
  hasDeployChanges: z.boolean(),
  deployPendingChanges: z.array(z.object({ group: z.string(), field: z.string() })),
})
export type PendingChanges = z.output<typeof pendingChanges>

export const autoscaling = z.object({
  enabled: z.boolean(),
  minContainers: z.number(),
  maxContainers: z.number(),
  targetCpuPercent: z.number(),
  targetMemoryPercent: z.number().nullable(),
  scaleUpWindowSeconds: z.number(),
  scaleDownWindowSeconds: z.number(),
})
export type Autoscaling = z.output<typeof autoscaling>

const containers = z.number().int().min(1).max(100)
const disk = z.number().int().min(1).max(10_485_760).describe('MB; databases only')
const mountPath = z
  .string()
  .max(255)
  .regex(/^(?:\/[A-Za-z0-9._-]+)+$/, 'must be an absolute path such as /data')
  .refine((value) => !value.split('/').includes('..'), 'must not contain .. parts')

/** The one grammar that PostgreSQL parameters accept (contract.md 6). */
const memoryValue = z
  .string()
  .regex(/^[1-9][0-9]{0,6}(kB|MB|GB)$/, 'must be a whole number and a unit, kB, MB or GB, such as 64MB')

const parameters = z.strictObject({
  work_mem: memoryValue.optional(),
  hash_mem_multiplier: z.number().min(1).max(1000).optional(),
  max_parallel_workers_per_gather: z.number().int().min(0).max(64).optional(),
  effective_cache_size: memoryValue.optional(),
})
export const databaseSettings = z.strictObject({
  postgresql: z.strictObject({ parameters }).optional(),
})
export type DatabaseSettings = z.output<typeof databaseSettings>

export const createAppEnv = operation({
  id: 'create-app-env',
  method: 'POST',
  path: '/app-env',
  summary: 'Creates an environment of an app in a region. Deploy to it afterwards.',
  policy: { on: 'new-environment' },
  input: z.strictObject({
    accountId,
    appId,
    name: line(100).describe('Environment name'),
    region: line(64).describe('See list-regions'),
    branch: branch.optional().describe('Needed for Git-host apps'),
    cliEnvName: z
      .string()
      .max(63)
      .regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, 'must be lower-case letters, digits and inner hyphens')
      .optional()
      .describe('Name in URLs; made when left out'),
    zClouds: zClouds.default(1),
    envVars: envVars.optional(),
    dockerPresetVersion: z.string().min(1).max(64).optional(),
    containers: containers.optional(),
    disk: disk.optional(),
    withPersistence: z.boolean().optional(),
    useVolume: z.boolean().optional(),
    mountPath: mountPath.optional(),
    databaseSettings: databaseSettings.optional(),
    functionConfig: functionConfig.optional(),
    jobConfig: jobConfig.optional(),
  }),
  output: z.object({ appEnvId: z.string() }),
})

export const appEnv = z.object({
  appEnvId: z.string(),
  appId: z.string(),
  accountId: z.string(),
  name: z.string(),
  slug: z.string(),
  region: z.string(),
  status: z.enum(environmentStatuses),
  currentVersion: z.number().nullable(),
  gitBranch: z.string(),
  cliEnvName: z.string(),
  allowUserCliToken: z.boolean(),
  dockerPreset,
  isFunction: z.boolean(),
  isDatabase: z.boolean(),
  isJob: z.boolean(),
  zClouds: z.number(),
  containers: z.number(),
  disk: z.number(),
  withPersistence: z.boolean(),
  useVolume: z.boolean(),
  mountPath: z.string().optional(),
  dockerPresetVersion: z.string().optional(),
  databaseSettings: databaseSettings.optional(),
  envVars: z.array(envVarRead),
  functionConfig: functionConfigRead.optional(),
  jobConfig: jobConfigRead.optional(),
  appJobConfig: jobConfigRead.optional(),
  effectiveJobConfig: effectiveJobConfig.optional(),
  autoscaling: autoscaling.nullable(),
  hosts: z.array(host),
  pendingChanges,
  changingRegion: z.boolean(),
  createdAt: isoTime,
  updatedAt: isoTime,
  revision,
})
export type AppEnv = z.output<typeof appEnv>

export const getAppEnv = operation({
  id: 'get-app-env',
  method: 'GET',
  path: '/app-env',
  summary: 'Reads one environment: settings, variables (secrets masked), hosts, pending changes.',
  policy: { on: 'environment', environmentToken: true },
  input: z.strictObject({
    ...environmentRef,
    decrypt: z.boolean().default(false).describe('Secrets in clear; admin'),
  }),
  output: appEnv,
})

export const updateAppEnv = operation({
  id: 'update-app-env',
  method: 'PUT',
  path: '/app-env',
  summary:
    'Changes an environment. envVars REPLACES all variables (E1); to change some, use update-app-env-variables.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    name: line(100).optional(),
    region: line(64).optional(),
    branch: branch.optional(),
    zClouds: zClouds.optional(),
    envVars: envVars.optional(),
    containers: containers.optional(),
    disk: disk.optional(),
    useVolume: z.boolean().optional(),
    mountPath: mountPath.optional(),
    dockerPresetVersion: z.string().max(64).optional().describe('Cannot change (D4)'),
    databaseSettings: databaseSettings.optional(),
    functionConfig: functionConfig.optional(),
    jobConfig: jobConfig.optional(),
    expectedRevision,
  }),
  ignored: [
    'appId',
    'accountId',
    'slug',
    'status',
    'currentVersion',
    'gitBranch',
    'cliEnvName',
    'allowUserCliToken',
    'dockerPreset',
    'isFunction',
    'isDatabase',
    'isJob',
    'withPersistence',
    'appJobConfig',
    'effectiveJobConfig',
    'autoscaling',
    'hosts',
    'pendingChanges',
    'changingRegion',
    'createdAt',
    'updatedAt',
    'revision',
  ],
  output: z.object({ appEnvId: z.string() }),
})

export const deleteAppEnv = operation({
  id: 'delete-app-env',
  method: 'DELETE',
  path: '/app-env',
  summary: 'Deletes an environment with its containers, volumes, uploads and logs. Cannot be undone.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, expectedRevision }),
  output: z.object(message),
})

export const appEnvSummary = z.object({
  appEnvId: z.string(),
  appId: z.string(),
  name: z.string(),
  slug: z.string(),
  region: z.string(),
  status: z.enum(environmentStatuses),
  cliEnvName: z.string(),
  dockerPreset,
  isFunction: z.boolean(),
  currentVersion: z.number().nullable(),
})

export const listAppEnvs = operation({
  id: 'list-app-envs',
  method: 'GET',
  path: '/app-envs',
  summary: 'Lists the environments of an account or an app that the caller can see.',
  policy: { on: 'account-or-app' },
  input: z.strictObject({ accountId: accountId.optional(), appId: appId.optional() }),
  output: z.object({ appEnvs: z.array(appEnvSummary) }),
})

export const updateFunctionConfig = operation({
  id: 'update-function-config',
  method: 'PATCH',
  path: '/app-env/function-config',
  summary: 'Changes how a function scales and times out. Pending until apply, unless applyImmediately.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    ...functionConfigFields,
    applyImmediately: z.boolean().default(false),
    expectedRevision,
  }),
  output: z.object({
    success: z.literal(true),
    appEnv: acted.appEnv.extend({ isFunction: z.literal(true), functionConfig: functionConfigRead }),
    appliedImmediately: z.boolean(),
  }),
})

export const updateAppEnvVariables = operation({
  id: 'update-app-env-variables',
  method: 'PATCH',
  path: '/app-env/variables',
  summary:
    'Sets or removes some variables; the others keep value, type and secret flag. Pending until apply.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    set: z.array(envVarChange).max(500).optional(),
    unset: z.array(variableName).max(500).optional().describe('Names to remove'),
    expectedRevision,
  }),
  output: z.object({ ...acted, pendingChanges }),
})

export const applyAppEnvChanges = operation({
  id: 'apply-app-env-changes',
  method: 'POST',
  path: '/app-env/apply-changes',
  summary: 'Applies the pending changes of an environment: builds, deploys or scales as they need.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, expectedRevision }),
  output: z.object({ ...acted, appliedImmediately: z.literal(true) }),
})

export const stopAppEnv = operation({
  id: 'stop-app-env',
  method: 'POST',
  path: '/app-env/stop',
  summary: 'Stops an environment: all its containers end, nothing answers until start-app-env.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, expectedRevision }),
  output: z.object(acted),
})

export const startAppEnv = operation({
  id: 'start-app-env',
  method: 'POST',
  path: '/app-env/start',
  summary: 'Starts a stopped environment at its last version.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, expectedRevision }),
  output: z.object(acted),
})

export const restartAppEnv = operation({
  id: 'restart-app-env',
  method: 'POST',
  path: '/app-env/restart',
  summary: 'Replaces the running containers of an environment by fresh ones, without downtime.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, expectedRevision }),
  output: z.object(acted),
})

export const updateAppEnvAutoscaling = operation({
  id: 'update-app-env-autoscaling',
  method: 'PATCH',
  path: '/app-env/autoscaling',
  summary: 'Autoscaling of a regular app on CPU and memory. Not for functions (F8), jobs or databases.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    enabled: z.boolean().optional(),
    minContainers: z.number().int().min(1).max(100).optional(),
    maxContainers: z.number().int().min(1).max(100).optional(),
    targetCpuPercent: z.number().int().min(1).max(100).optional(),
    targetMemoryPercent: z.number().int().min(1).max(100).optional(),
    scaleUpWindowSeconds: z.number().int().min(0).max(3600).optional(),
    scaleDownWindowSeconds: z.number().int().min(0).max(86_400).optional(),
    expectedRevision,
  }),
  output: z.object({ ...acted, autoscaling }),
})

export const scaleAppEnvContainers = operation({
  id: 'scale-app-env-containers',
  method: 'PATCH',
  path: '/app-env/containers',
  summary:
    'Sets how many containers an app or database runs. Not for functions: they scale by concurrency (F8).',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, containers, expectedRevision }),
  output: z.object({ ...acted, containers: z.number() }),
})
