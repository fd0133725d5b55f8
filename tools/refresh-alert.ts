import { refreshAlert } from '../src/contract/alerts.ts'
import { saysPaused } from '../src/mcp/alert-checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: refreshAlert,
  group: 'alerts',
  title: 'Evaluate alert now',
  description: 'Evaluates an alert now instead of at the next 10 s turn, and answers its state.',
  hints: { readOnly: false, destructive: false, idempotent: true },
  unlistedInputs: ['expectedRevision', 'dryRun'],
  checks: [saysPaused],
  point: ({ state, previousState }) =>
    state === previousState ? `Still ${state}.` : `${state} now, ${previousState} before.`,
})
