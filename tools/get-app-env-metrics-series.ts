import { getAppEnvMetricsSeries } from '../src/contract/measurements.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getAppEnvMetricsSeries,
  group: 'metrics',
  title: 'Metric over time',
  description:
    'Shows one metric over time, as for a graph (chart, plot, trend): how CPU, memory, requests or latency developed in the last hours, day or week (mean, min, max, last).',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  referredInputs: { metric: 'As create-alert' },
  checks: [environmentNamed],
  point: ({ metric, unit, points }) => {
    const newest = points.at(-1)
    if (!newest) return `No samples of ${metric} in this range.`
    const most = Math.max(...points.map((point) => point.max))
    return `${points.length} points of ${metric} in ${unit}: newest ${newest.value}, highest ${most}.`
  },
})
