import { getAppEnvMetrics } from '../src/contract/measurements.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getAppEnvMetrics,
  group: 'metrics',
  title: 'Metrics now',
  description:
    'Shows the current load right now: CPU, memory consumption, containers, requests per second (traffic), error rate and latency (response time). For functions, resources is null (F9).',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  point: ({ resources, containers, ingress }) => {
    const used =
      resources === null
        ? ''
        : `CPU ${Math.round(resources.cpu.percent)}%, memory ${Math.round(resources.memory.percent)}% of what is allocated; `
    return `${used}${containers.ready} of ${containers.desired} containers ready; ${ingress.requestRate} requests/s, ${ingress.rate5xx} errors/s, p95 ${ingress.p95LatencySeconds} s.`
  },
})
