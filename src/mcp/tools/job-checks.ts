import { jobOnlyViolation } from '../../contract/rules.ts'
import { AppError, rejectViolation } from '../../errors.ts'
import type { Check } from './define-tool.ts'

/** E4: job settings and runs exist on apps with the JOB preset only. */
export const isAJob: Check = async (ctx, input) => {
  const env = await ctx.reads.environment(input, ctx.signal)
  rejectViolation(jobOnlyViolation(env, ctx.operation.id === 'start-job-run' ? 'runs' : 'job settings'))
  return undefined
}

/** The platform needs the environment beside the run id; get-job-run shows it. */
export const environmentOfRunNamed: Check = (_ctx, { jobRunId, appEnvId, envName }) => {
  if (jobRunId === undefined || appEnvId !== undefined || envName !== undefined) return undefined
  throw new AppError('invalid', 'appEnvId or envName is required', {
    details: 'Send the appEnvId of the run together with jobRunId; get-job-run shows it.',
  })
}

/** An empty command, args or workingDir removes the override; models often send empty values by mistake. */
export const warnClearedJobFields: Check = (_ctx, input) => {
  const nested = input.jobConfig as Record<string, unknown> | undefined
  const cleared = ['command', 'args', 'workingDir'].filter((field) => {
    const value = input[field] ?? nested?.[field]
    return value === '' || (Array.isArray(value) && value.length === 0)
  })
  if (cleared.length === 0) return undefined
  return `Empty ${cleared.join(', ')}: the override is removed and the app's value is inherited. To keep an override, omit the field.`
}
