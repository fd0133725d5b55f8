import { updateFunctionConfig } from '../src/contract/app-env-actions.ts'
import { functionLimits, isAFunction } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: updateFunctionConfig,
  group: 'functions',
  title: 'Configure function',
  description:
    'Changes how a function scales and times out (FUNCTION preset only, E3). Pending until apply-app-env-changes, unless applyImmediately.',
  hints: { readOnly: false, destructive: false, idempotent: true },
  checks: [isAFunction, functionLimits],
  point: ({ appEnv, appliedImmediately }) =>
    `${appEnv.name} is configured, ${appliedImmediately ? 'in force now' : 'pending until apply-app-env-changes'}.`,
})
