import { cancelDeployment } from '../src/contract/deployments.ts'
import { environmentAccessible } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'
import { deploymentEffect } from '../src/mcp/tools/destructive-effects.ts'

export default defineTool({
  operation: cancelDeployment,
  group: 'deploys',
  title: 'Cancel deployment',
  description:
    'Cancels (aborts, stops, calls off) the deployment, release, rollout or build that is under way; the version before keeps serving.',
  hints: { readOnly: false, destructive: true, idempotent: true, openWorld: false },
  referredInputs: { contentId: '' },
  checks: [environmentAccessible],
  destroys: deploymentEffect,
})
