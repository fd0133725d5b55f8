import { z } from 'zod'
import { claim } from './claims.ts'
import {
  accountId,
  appId,
  branch,
  dockerPreset,
  environmentRef,
  environmentStatuses,
  expectedRevision,
  isoTime,
  line,
  message,
  pagination,
  revision,
  zClouds,
} from './fields.ts'
import { functionConfig, functionConfigRead } from './function-config.ts'
import { effectiveHealthCheck, healthCheck } from './health.ts'
import { effectiveJobConfig, jobConfig, jobConfigRead } from './job-config.ts'
import { operation } from './operation.ts'
import { envVarRead, envVars } from './variables.ts'

const hostKinds = ['http', 'function', 'internal', 'amqp', 'mqtt', 'management', 'native'] as const
export const host = z.object({ host: z.string(), url: z.string(), kind: z.enum(hostKinds) })
export type Host = z.output<typeof host>

const savedBy = {
  by: z.string().nullable().optional().describe('In reads: the user who saved it last; null if unknown'),
  at: isoTime.nullable().optional(),
}
export const pendingChanges = z.object({
  hasBuildChanges: z.boolean(),
  hasDeployChanges: z.boolean(),
  deployPendingChanges: z.array(
    z.object({
      group: z.string(),
      field: z.string(),
      ...savedBy,
      variables: z.array(z.object({ name: z.string(), ...savedBy })).optional(),
    }),
  ),
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

export const autoscalingDefaults: Autoscaling = {
  enabled: false,
  minContainers: 1,
  maxContainers: 3,
  targetCpuPercent: 70,
  targetMemoryPercent: null,
  scaleUpWindowSeconds: 0,
  scaleDownWindowSeconds: 300,
}

export const containers = z.number().int().min(1).max(100)
const disk = z.number().int().min(1).max(10_485_760).describe('MB; databases only')
const mountPath = z
  .string()
  .max(255)
  .regex(/^(?:\/[A-Za-z0-9._-]+)+$/, 'must be an absolute path such as /data')
  .refine((value) => !/\/\.\.?(?:\/|$)/.test(value), 'must not contain . or .. parts')

/** The grammar of PostgreSQL memory parameters (2.3). */
const memoryValue = z
  .string()
  .regex(/^[1-9][0-9]{0,6}(kB|MB|GB)$/, 'must be a whole number and a unit, kB, MB or GB, such as 64MB')

const parameters = z.strictObject({
  work_mem: memoryValue.optional(),
  hash_mem_multiplier: z.number().min(1).max(1000).optional(),
  max_parallel_workers_per_gather: z.number().int().min(0).max(64).optional(),
  effective_cache_size: memoryValue.optional(),
})
const databaseSettings = z.strictObject({
  postgresql: z.strictObject({ parameters }).optional(),
})
export type DatabaseSettings = z.output<typeof databaseSettings>

const labels = z.array(line(127)).max(20).describe('For policies: key=value or key:value; replaces all')
const isProtected = z.boolean().describe('Policies may guard it')

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
    branch: branch.optional().describe('Required for Git-host apps'),
    cliEnvName: z
      .string()
      .max(63)
      .regex(/^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/, 'must be lower-case letters, digits and inner hyphens')
      .optional()
      .describe('Name in URLs'),
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
    labels: labels.optional(),
    protected: isProtected.optional(),
    healthCheck: healthCheck.optional(),
  }),
  output: z.object({ appEnvId: z.string() }),
})

const appEnv = z.object({
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
  labels: z.array(z.string()),
  protected: z.boolean(),
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
  healthCheck: healthCheck.optional(),
  effectiveHealthCheck: effectiveHealthCheck.optional(),
  autoscaling: autoscaling.nullable(),
  hosts: z.array(host),
  pendingChanges,
  claim: claim.nullable(),
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
    decrypt: z.boolean().default(false).describe('Unmask secrets; admin'),
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
    healthCheck: healthCheck.optional(),
    labels: labels.optional(),
    protected: isProtected.optional(),
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
    'effectiveHealthCheck',
    'autoscaling',
    'hosts',
    'pendingChanges',
    'changingRegion',
    'claim',
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

const appEnvSummary = z.object({
  appEnvId: z.string(),
  appId: z.string(),
  name: z.string(),
  slug: z.string(),
  region: z.string(),
  status: z.enum(environmentStatuses),
  cliEnvName: z.string(),
  labels: z.array(z.string()),
  protected: z.boolean(),
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
  input: z.strictObject({
    accountId: accountId.optional(),
    appId: appId.optional(),
    status: z.enum(environmentStatuses).optional(),
    healthy: z.boolean().optional().describe('false: only those that need attention'),
    limit: z.number().int().min(1).max(1000).optional().describe('Only so many, the oldest first'),
  }),
  output: z.object({
    appEnvs: z.array(appEnvSummary),
    /** With `limit`: how many there are in all. */
    pagination: pagination.optional(),
  }),
})
