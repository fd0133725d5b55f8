import { z } from 'zod'
import { pendingChanges } from './app-envs.ts'
import { environmentRef, expectedRevision } from './fields.ts'
import { jobConfig, jobConfigFields, jobConfigNames, jobConfigRead } from './job-config.ts'
import { operation } from './operation.ts'

/** A plain string in the schema: the names stand beside it already, and an enum would say them twice. */
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
    clear: z.array(jobConfigName).max(9).optional().describe('Fields to inherit again'),
    applyImmediately: z.boolean().default(false),
    expectedRevision,
  }),
  output: z.object({
    success: z.literal(true),
    appEnv: z.object({ appEnvId: z.string(), pendingChanges }),
    jobConfig: jobConfigRead,
    appliedImmediately: z.boolean(),
  }),
})
