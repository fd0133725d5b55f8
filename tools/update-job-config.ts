import { updateJobConfig } from '../src/contract/jobs.ts'
import { defineTool } from '../src/mcp/define-tool.ts'
import { isAJob, saysClearedJobFields, saysUnusedArgs } from '../src/mcp/job-checks.ts'

export default defineTool({
  operation: updateJobConfig,
  group: 'jobs',
  title: 'Configure job',
  description:
    'Changes how runs of a job start. Left out = kept; clear = inherited again. Pending until apply-app-env-changes, unless applyImmediately.',
  hints: { readOnly: false, destructive: false, idempotent: true },
  unlistedInputs: ['jobConfig'],
  checks: [isAJob, saysClearedJobFields, saysUnusedArgs],
  point: ({ appEnv, appliedImmediately }) =>
    `Job settings of ${appEnv.appEnvId} are ${appliedImmediately ? 'in force for the next run' : 'pending until apply-app-env-changes'}.`,
})
