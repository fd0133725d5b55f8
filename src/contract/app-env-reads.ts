import { z } from 'zod'
import { host, pendingChanges } from './app-envs.ts'
import { claim } from './claims.ts'
import { environmentRef, environmentStatuses, id, isoTime, pagination } from './fields.ts'
import { health } from './health.ts'
import { operation } from './operation.ts'

const deploymentStatuses = ['BUILDING', 'DEPLOYING', 'DEPLOYED', 'FAILED'] as const

const deployment = z.object({
  contentId: z.string(),
  version: z.number(),
  status: z.enum(deploymentStatuses),
  type: z.enum(['BUILD', 'IMAGE']),
  containerImage: z.string().nullable(),
  createdAt: isoTime,
  deployedAt: isoTime.nullable(),
  failure: z
    .object({
      reason: z.string(),
      message: z.string(),
      /** As diagnose-app-env names it. */
      cause: z.string().optional(),
      /** If the cause is another one than the reason names: the summary of the diagnosis. */
      explanation: z.string().optional(),
    })
    .nullable(),
})
export type Deployment = z.output<typeof deployment>

export const getAppEnvStatus = operation({
  id: 'get-app-env-status',
  method: 'GET',
  path: '/app-env/status',
  summary: 'Reads whether an environment is up and healthy, its version, and why its last deployment failed.',
  policy: { on: 'environment', environmentToken: true },
  input: z.strictObject(environmentRef),
  output: z.object({
    appEnvId: z.string(),
    cliEnvName: z.string(),
    status: z.enum(environmentStatuses),
    currentContentId: z.string().nullable(),
    currentVersion: z.number().nullable(),
    currentDeployment: deployment.nullable(),
    containers: z.object({ desired: z.number(), running: z.number(), ready: z.number() }),
    /** Null while it is not meant to run, and for jobs. */
    health: health.nullable(),
    pendingChanges,
    claim: claim.nullable().describe('The agent or person that works on it'),
    hosts: z.array(host),
    /** While it moves with its volume: during `copy` and `start` no requests are served. */
    volumeMove: z.object({ region: z.string(), step: z.enum(['prepare', 'copy', 'start']) }).optional(),
  }),
})

const podStatuses = ['Pending', 'Running', 'Succeeded', 'Failed'] as const
export type PodStatus = (typeof podStatuses)[number]

const pod = z.object({
  name: z.string(),
  podId: z.string(),
  status: z.enum(podStatuses),
  containerReady: z.boolean(),
  startedAt: isoTime.nullable(),
  finishedAt: isoTime.nullable(),
  restartCount: z.number(),
  lastTermination: z.object({ exitCode: z.number(), reason: z.string(), finishedAt: isoTime }).nullable(),
  resources: z.object({ cpu: z.number(), memoryMb: z.number() }),
  nodeName: z.string(),
  contentId: z.string(),
})
export type Pod = z.output<typeof pod>

export const getAppEnvPods = operation({
  id: 'get-app-env-pods',
  method: 'GET',
  path: '/app-env/pods',
  summary: 'Lists containers. For functions: the last 20 of any status, including ended ones (F10).',
  policy: { on: 'environment', environmentToken: true },
  input: z.strictObject({
    ...environmentRef,
    jobRunId: id.optional().describe('Jobs: every attempt of this run, newest first'),
  }),
  output: z.object({ appEnvId: z.string(), contentId: z.string().nullable(), pods: z.array(pod) }),
})

const activity = z.object({
  activity: z.string(),
  contentId: z.string().nullable(),
  version: z.number().nullable(),
  status: z.string(),
  timestamp: isoTime,
  userId: z.string().nullable(),
  gitCommitId: z.string().nullable(),
  details: z.string().nullable(),
})
export type Activity = z.output<typeof activity>

export const instant = z
  .string()
  .max(40)
  .refine(
    (value) => !Number.isNaN(Date.parse(value)),
    'must be an ISO 8601 time, such as 2030-01-31T18:00:00Z',
  )

export const getAppEnvHistory = operation({
  id: 'get-app-env-history',
  method: 'GET',
  path: '/app-env/history',
  summary: 'Lists what happened to an environment, newest first: deployments, starts, stops, changes.',
  policy: { on: 'environment' },
  input: z.strictObject({
    ...environmentRef,
    limit: z.number().int().min(1).max(200).default(50),
    offset: z.number().int().min(0).max(1_000_000).default(0),
    fromDate: instant.optional(),
    toDate: instant.optional(),
  }),
  output: z.object({
    appEnvId: z.string(),
    activities: z.array(activity),
    pagination,
  }),
})

export const logTypes = ['RUNTIME', 'BUILD', 'JOB', 'REQUEST'] as const
export type LogType = (typeof logTypes)[number]

const loggedRequest = z.object({
  method: z.string(),
  path: z.string(),
  /** Null: the client disconnected before a response began. */
  status: z.number().nullable(),
  durationMs: z.number(),
  /** Null: the container sent no response. */
  firstByteMs: z.number().nullable(),
  coldStart: z.boolean(),
  bytesIn: z.number(),
  bytesOut: z.number(),
  /** Why the gateway answered in place of the container. */
  refused: z.string().nullable(),
  /** An event stream or a WebSocket: its response time is that of its first byte. Lines of earlier versions lack it. */
  stream: z.boolean().optional(),
  /** Why a response that had begun was not completed; `drain`: by a restart, a deployment or a stop. */
  cut: z.enum(['drain', 'timeout', 'container']).nullable().optional(),
  /** By the word of trusted proxies. Lines of earlier versions lack it. */
  clientAddress: z.string().optional(),
  traceId: z.string().nullable(),
  /** How many requests the line stands for: more than 1 if the log was sampled at that time. */
  oneIn: z.number(),
})
export type LoggedRequest = z.output<typeof loggedRequest>

export const logLine = z.object({
  timestamp: isoTime,
  stream: z.enum(['stdout', 'stderr']),
  type: z.enum(logTypes),
  podName: z.string().nullable(),
  contentId: z.string().nullable(),
  message: z.string(),
  /** With type REQUEST only. */
  request: loggedRequest.optional(),
})
export type LogLine = z.output<typeof logLine>

export const getLogs = operation({
  id: 'get-logs',
  method: 'GET',
  path: '/logs',
  summary: 'Reads runtime, build, job or request logs, newest last; search and time range narrow it.',
  policy: { on: 'environment', environmentToken: true },
  input: z.strictObject({
    ...environmentRef,
    type: z.enum(logTypes).default('RUNTIME'),
    stream: z.enum(['stdout', 'stderr']).optional(),
    podName: z.string().max(128).optional(),
    contentId: z.string().max(64).optional(),
    jobRunId: id.optional(),
    search: z.string().max(200).optional().describe('Text to find, case ignored'),
    size: z.number().int().min(1).max(1000).default(300),
    status: z
      .string()
      .regex(/^[1-5](?:\d\d|xx)$/, 'must be a status such as 404, or a class such as 5xx')
      .optional()
      .describe('404 or 5xx'),
    path: z.string().min(1).max(512).optional().describe('Start of the path'),
    slowerThanMs: z.number().int().min(0).max(86_400_000).optional(),
    from: instant.optional(),
    to: instant.optional(),
    cursor: z
      .string()
      .regex(/^\d{1,9}\.\d{1,9}$/, 'must be the cursor of an earlier response')
      .optional(),
  }),
  output: z.object({
    appEnvId: z.string(),
    logs: z.array(logLine),
    cursor: z.string().nullable(),
    truncated: z.boolean(),
    /** With type REQUEST: how many requests the shown lines stand for, and the share of these that is shown. */
    sampling: z.object({ shown: z.number(), requests: z.number(), rate: z.number() }).optional(),
  }),
})
