import { updateJobConfig } from '../src/contract/jobs.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { isAJob, warnClearedJobFields } from '../src/mcp/tools/job-checks.ts'

export default defineTool({
  operation: updateJobConfig,
  group: 'jobs',
  title: 'Configure job',
  description:
    'Changes settings of a job: command, arguments, retries, timeout (time until it is killed), runs at the same time. Omitted fields stay; clear resets fields to inherited. Pending until apply-app-env-changes, unless applyImmediately.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  checks: [isAJob, warnClearedJobFields],
  namesEnvironment: true,
  point: ({ appliedImmediately, warnings = [] }, _input, envName) =>
    [
      `Job settings of ${envName} are ${appliedImmediately ? 'in effect from the next run' : 'pending until apply-app-env-changes'}.`,
      ...warnings,
    ].join(' '),
})
