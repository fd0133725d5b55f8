import { z } from 'zod'
import { autoscaling, containers, pendingChanges } from './app-envs.ts'
import { environmentRef, environmentResponse, expectedRevision, includeChangesOf } from './fields.ts'
import { functionConfigFields, functionConfigRead } from './function-config.ts'
import { heldChanges } from './held-changes.ts'
import { operation } from './operation.ts'
import { envVarChange, variableName } from './variables.ts'

export const applyAppEnvChanges = operation({
  id: 'apply-app-env-changes',
  method: 'POST',
  path: '/app-env/apply-changes',
  summary: 'Applies the pending changes of an environment: builds, deploys or scales as needed.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, includeChangesOf, expectedRevision }),
  output: z.object({ ...environmentResponse, appliedImmediately: z.literal(true), heldChanges }),
})

export const discardAppEnvChanges = operation({
  id: 'discard-app-env-changes',
  method: 'POST',
  path: '/app-env/discard-changes',
  summary: 'Discards the pending changes of an environment: its saved settings are those in force again.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, expectedRevision }),
  output: z.object({ ...environmentResponse, pendingChanges }),
  // Agents undo their own changes with undo-change; discarding everybody's is for people.
  peopleOnly: true,
})

export const stopAppEnv = operation({
  id: 'stop-app-env',
  method: 'POST',
  path: '/app-env/stop',
  summary: 'Stops an environment: all its containers end, and it serves no requests until start-app-env.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, expectedRevision }),
  output: z.object(environmentResponse),
})

export const startAppEnv = operation({
  id: 'start-app-env',
  method: 'POST',
  path: '/app-env/start',
  summary: 'Starts a stopped environment at its last version.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, expectedRevision }),
  output: z.object(environmentResponse),
})

export const restartAppEnv = operation({
  id: 'restart-app-env',
  method: 'POST',
  path: '/app-env/restart',
  summary: 'Replaces the running containers of an environment with new ones, without downtime.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, expectedRevision }),
  output: z.object(environmentResponse),
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
    set: z
      .array(envVarChange, { error: 'must be a list, such as [{"name": "COLOR", "value": "green"}]' })
      .max(500)
      .optional(),
    unset: z.array(variableName).max(500).optional().describe('Names to remove'),
    expectedRevision,
  }),
  output: z.object({ ...environmentResponse, pendingChanges }),
})

export const requestSecret = operation({
  id: 'request-secret',
  method: 'POST',
  path: '/app-env/secret-request',
  summary: 'Makes a one-time link on which a person enters a secret variable.',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, variable: variableName, expectedRevision }),
  output: z.object({ url: z.string(), expiresAt: z.string() }),
  answersCapability: true,
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
    appEnv: environmentResponse.appEnv.extend({
      isFunction: z.literal(true),
      functionConfig: functionConfigRead,
    }),
    appliedImmediately: z.boolean(),
  }),
})

export const updateAppEnvAutoscaling = operation({
  id: 'update-app-env-autoscaling',
  method: 'PATCH',
  path: '/app-env/autoscaling',
  summary:
    'Configures CPU and memory autoscaling of a regular app. Not for functions (F8), jobs or databases.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    enabled: z.boolean().optional(),
    minContainers: z.number().int().min(1).max(100).optional(),
    maxContainers: z.number().int().min(1).max(100).optional(),
    targetCpuPercent: z.number().int().min(1).max(100).optional(),
    targetMemoryPercent: z.number().int().min(1).max(100).nullable().optional(),
    scaleUpWindowSeconds: z.number().int().min(0).max(3600).optional(),
    scaleDownWindowSeconds: z.number().int().min(0).max(86_400).optional(),
    expectedRevision,
  }),
  output: z.object({ ...environmentResponse, autoscaling }),
})

export const scaleAppEnvContainers = operation({
  id: 'scale-app-env-containers',
  method: 'PATCH',
  path: '/app-env/containers',
  summary:
    'Sets how many containers an app or database runs. Not for functions: they scale by concurrency (F8).',
  policy: { on: 'environment' },
  input: z.strictObject({ ...environmentRef, containers, expectedRevision }),
  output: z.object({ ...environmentResponse, containers: z.number() }),
})
