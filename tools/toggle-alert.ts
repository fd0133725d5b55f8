import { toggleAlert } from '../src/contract/alerts.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: toggleAlert,
  group: 'alerts',
  title: 'Pause or resume alert',
  description:
    'Pauses (mutes, silences, switches off) an alert or alarm, as during maintenance, or turns it back on: evaluation and notifications (admin).',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  point: ({ message }) => message,
})
