import { updateFunctionConfig } from '../src/contract/app-env-actions.ts'
import { functionLimits, isAFunction } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

const settings = [
  'containerConcurrency',
  'timeoutSeconds',
  'idleTimeoutSeconds',
  'responseStartTimeoutSeconds',
  'minScale',
  'maxScale',
] as const

export default defineTool({
  operation: updateFunctionConfig,
  group: 'functions',
  title: 'Configure function',
  description:
    'Changes scaling and timeouts of a function: warm (no cold starts) or idle to zero, requests at once. Pending, unless applyImmediately.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  referredInputs: { idleTimeoutSeconds: '', containerConcurrency: '0: no limit' },
  checks: [isAFunction, functionLimits],
  namesEnvironment: true,
  point: ({ appliedImmediately }, input, envName) => {
    if (appliedImmediately) return `${envName} is configured; the change is in effect now.`
    const isChanged = settings.some((name) => input[name] !== undefined)
    return isChanged
      ? `${envName} is configured; the change is pending until apply-app-env-changes.`
      : `No setting was sent, so ${envName} is unchanged. Settings: ${settings.join(', ')}.`
  },
})
