import { listRegions } from '../src/contract/regions.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: listRegions,
  group: 'apps',
  title: 'List regions',
  description: 'Lists the regions environments can run in. Functions need one with a functionDomain (F5).',
  hints: { readOnly: true, destructive: false, idempotent: true },
  point: ({ regions }) =>
    `${regions.length} region(s): ${regions.map((region) => region.region).join(', ')}.`,
})
