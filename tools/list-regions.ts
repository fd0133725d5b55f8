import { counted } from '../src/amounts.ts'
import { listRegions } from '../src/contract/regions.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: listRegions,
  group: 'apps',
  title: 'List regions',
  description:
    'Lists the regions (locations, data centers, countries) where environments can run. Functions need one with a functionDomain (F5).',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  point: ({ regions }) =>
    `${counted(regions.length, 'region')}: ${regions.map((region) => region.region).join(', ')}.`,
})
