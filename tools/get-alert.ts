import { getAlert } from '../src/contract/alerts.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: getAlert,
  group: 'alerts',
  title: 'Read alert',
  description: 'Reads one alert: state, current value, last state changes, and which notices arrived.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  point: ({ name, enabled, lastKnownState, currentValue, unit }) =>
    `${name} is ${enabled ? '' : 'paused; when last evaluated it was '}${lastKnownState}${currentValue === null ? ', nothing measured' : `; the value is ${rounded(currentValue)} ${unit}`}.`,
  shorten: (answer) => ({
    ...answer,
    currentValue: rounded(answer.currentValue),
    stateHistory: answer.stateHistory.map((step) => ({ ...step, value: rounded(step.value) })),
  }),
})

/** Six digits, as the metrics have; the others only cost. */
function rounded<Value extends number | null>(value: Value): Value {
  return (value === null ? null : Number(value.toPrecision(6))) as Value
}
