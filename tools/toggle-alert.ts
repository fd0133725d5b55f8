import { toggleAlert } from '../src/contract/alerts.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: toggleAlert,
  group: 'alerts',
  title: 'Pause or resume alert',
  description: 'Pauses an alert (no evaluation, no notices) or resumes it (admin).',
  hints: { readOnly: false, destructive: false, idempotent: true },
  unlistedInputs: ['expectedRevision', 'dryRun'],
  point: ({ message }) => message,
})
