import { toggleAlert } from '../src/contract/alerts.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: toggleAlert,
  group: 'alerts',
  title: 'Pause or resume alert',
  description: 'Pauses or resumes evaluation and notifications of an alert (admin).',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  point: ({ message }) => message,
})
