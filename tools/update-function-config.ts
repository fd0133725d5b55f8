import { updateFunctionConfig } from '../src/contract/app-env-actions.ts'
import { functionLimits, isAFunction } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

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
    'Changes how a function scales and times out (FUNCTION preset only, E3). Pending until apply-app-env-changes, unless applyImmediately.',
  hints: { readOnly: false, destructive: false, idempotent: true },
  checks: [isAFunction, functionLimits],
  point: ({ appEnv, appliedImmediately }, input) => {
    if (appliedImmediately) return `${appEnv.name} is configured, in force now.`
    const isChanged = settings.some((name) => input[name] !== undefined)
    return isChanged
      ? `${appEnv.name} is configured, pending until apply-app-env-changes.`
      : `No setting was sent, so ${appEnv.name} stays as it is. It takes ${settings.join(', ')}.`
  },
})
