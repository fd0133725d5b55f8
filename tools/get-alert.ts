import { getAlert } from '../src/contract/alerts.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getAlert,
  group: 'alerts',
  title: 'Read alert',
  description:
    'Shows the details of one alert (alarm): threshold, state, current value, history of when it fired, notifications.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ alertId, enabled, lastKnownState, currentValue, unit }) =>
    `Alert ${alertId} is ${enabled ? '' : 'paused; at the last evaluation it was '}${lastKnownState}${currentValue === null ? ', without samples' : `; the value is ${rounded(currentValue)} ${unit}`}.`,
  shorten: (answer) => ({
    ...answer,
    currentValue: rounded(answer.currentValue),
    stateHistory: answer.stateHistory.map((step) => ({ ...step, value: rounded(step.value) })),
  }),
})

/** Six digits, the precision of metrics; more digits only cost tokens. */
function rounded<Value extends number | null>(value: Value): Value {
  return (value === null ? null : Number(value.toPrecision(6))) as Value
}
