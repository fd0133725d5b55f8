import { z } from 'zod'
import { pendingChanges } from './app-envs.ts'
import { environmentRef, expectedRevision, id, isoTime, pagination } from './fields.ts'
import { jobConfig, jobConfigFields, jobConfigLayers, jobConfigNames, jobConfigRead } from './job-config.ts'
import { operation } from './operation.ts'

/** A plain string in the schema: each name is an input of its own already, so an enum would repeat them all. */
const jobConfigName = z
  .string()
  .refine(
    (name) => (jobConfigNames as readonly string[]).includes(name),
    `must be one of ${jobConfigNames.join(', ')}`,
  )

export const updateJobConfig = operation({
  id: 'update-job-config',
  method: 'PATCH',
  path: '/app-env/job-config',
  summary:
    'Changes how runs of a job start: command, deadline, retries, concurrency. Pending until apply, unless applyImmediately.',
  policy: { on: 'environment', environmentToken: true },
  input: z.strictObject({
    ...environmentRef,
    jobConfig: jobConfig.optional(),
    ...jobConfigFields,
    clear: z.array(jobConfigName).max(9).optional().describe('Fields to reset to inherited'),
    applyImmediately: z.boolean().default(false),
    expectedRevision,
  }),
  output: z.object({
    success: z.literal(true),
    appEnv: z.object({ appEnvId: z.string(), pendingChanges }),
    jobConfig: jobConfigRead,
    appliedImmediately: z.boolean(),
    /** Warnings about saved settings that have no effect; absent if there are none. */
    warnings: z.array(z.string()).optional(),
  }),
})

export const jobRunStatuses = ['PENDING', 'RUNNING', 'SUCCEEDED', 'FAILED', 'CANCELED', 'TIMED_OUT'] as const

/** One run (docs/interface.md#job-runs). `snapshot` holds the settings it was started with. */
const jobRun = z.object({
  jobRunId: z.string(),
  appEnvId: z.string(),
  status: z.enum(jobRunStatuses),
  /** The current or last attempt; 0 before the first. */
  attempt: z.number(),
  snapshot: z.object({
    image: z.string(),
    contentId: z.string(),
    command: z.string(),
    args: z.array(z.string()),
    shell: z.boolean(),
    workingDir: z.string().nullable(),
    timeoutSeconds: z.number(),
    backoffLimit: z.number(),
  }),
  trigger: z.object({ userId: z.string().nullable(), tokenKind: z.enum(['user', 'environment']) }),
  createdAt: isoTime,
  startedAt: isoTime.nullable(),
  finishedAt: isoTime.nullable(),
  exitCode: z.number().nullable(),
  reason: z.string().nullable(),
})
export type JobRunResponse = z.output<typeof jobRun>

const runLayer = z.enum([...jobConfigLayers, 'run', 'image'])

/** The source of each snapshot value when the run started; `run` is the call that started it, `image` its CMD. */
const snapshotLayers = z.object({
  command: runLayer,
  args: runLayer,
  shell: runLayer,
  workingDir: runLayer,
  timeoutSeconds: runLayer,
  backoffLimit: runLayer,
})
export type SnapshotLayers = z.output<typeof snapshotLayers>

const jobRunId = id.describe('Job run id')
/** Fields that a read adds; writes ignore them. */
const ignored = ['appEnvId', 'envName']

export const startJobRun = operation({
  id: 'start-job-run',
  method: 'POST',
  path: '/app-env/job-run',
  summary: 'Starts one run of a job with the applied settings; fields sent here apply to this run only.',
  policy: { on: 'environment', environmentToken: true },
  input: z.strictObject({
    ...environmentRef,
    command: jobConfigFields.command,
    args: jobConfigFields.args,
    shell: jobConfigFields.shell,
    workingDir: jobConfigFields.workingDir,
    timeoutSeconds: jobConfigFields.timeoutSeconds,
    backoffLimit: jobConfigFields.backoffLimit,
    expectedRevision,
  }),
  output: z.object({ jobRun }),
})

export const listJobRuns = operation({
  id: 'list-job-runs',
  method: 'GET',
  path: '/app-env/job-runs',
  summary: 'Lists the runs of a job, newest first.',
  policy: { on: 'environment', environmentToken: true },
  input: z.strictObject({
    ...environmentRef,
    limit: z.number().int().min(1).max(200).default(50),
    offset: z.number().int().min(0).max(1_000_000).default(0),
    status: z.enum(jobRunStatuses).optional(),
  }),
  output: z.object({
    jobRuns: z.array(jobRun),
    pagination,
  }),
})

export const getJobRun = operation({
  id: 'get-job-run',
  method: 'GET',
  path: '/job-run',
  summary: 'Reads one job run: status, attempt, exit code and settings snapshot.',
  policy: { on: 'job-run', environmentToken: true },
  input: z.strictObject({ jobRunId }),
  ignored,
  output: z.object({ jobRun, snapshotFrom: snapshotLayers.optional() }),
})

export const cancelJobRun = operation({
  id: 'cancel-job-run',
  method: 'POST',
  path: '/job-run/cancel',
  summary:
    'Cancels a job run: stops its container and makes no further attempt. A finished run does not change.',
  policy: { on: 'job-run', environmentToken: true },
  input: z.strictObject({ jobRunId }),
  ignored,
  output: z.object({ jobRun }),
})
