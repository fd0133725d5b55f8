import { stopAppEnv } from '../src/contract/app-env-actions.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { serviceEffect } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: stopAppEnv,
  group: 'apps',
  title: 'Stop environment',
  description: 'Stops an environment: shuts down, turns off, pauses, takes offline.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  checks: [environmentAccessible],
  destroys: serviceEffect,
})
