import { refreshAlert } from '../src/contract/alerts.ts'
import { warnPaused } from '../src/mcp/tools/alert-checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: refreshAlert,
  group: 'alerts',
  title: 'Evaluate alert now',
  description:
    'Checks an alert (alarm) again now: reevaluates it and returns its updated state, such as still firing.',
  hints: { readOnly: false, destructive: false, idempotent: true, openWorld: false },
  checks: [warnPaused],
  point: ({ state, previousState }) =>
    state === previousState ? `Still ${state}.` : `${state} now, ${previousState} before.`,
})
