import { getAppEnvStatus } from '../src/contract/app-env-reads.ts'
import { statusSentence } from '../src/contract/status-sentence.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getAppEnvStatus,
  group: 'deploys',
  title: 'Environment status',
  description:
    'Is it up? State, health, serving version, URL, whether the newest deployment (rollout) is done.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  point: statusSentence,
  body: ({ health, ...status }, frame) => {
    if (!health || health.logTail.length === 0) return null
    const { logTail, ...ours } = health
    const facts = JSON.stringify({ ...status, health: ours })
    return `${facts}\n${frame('end of the log of a tenant program', logTail)}`
  },
})
