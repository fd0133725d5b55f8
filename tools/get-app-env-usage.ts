import { getAppEnvUsage } from '../src/contract/measurements.ts'
import { environmentNamed } from '../src/mcp/tools/checks.ts'
import { defineTool } from '../src/mcp/tools/define-tool.ts'

export default defineTool({
  operation: getAppEnvUsage,
  group: 'metrics',
  title: 'Billed usage',
  description:
    'Shows billed usage, what an environment costs this month (bill, price): container and zCloud hours (functions at triple rate), and disk above the included amount.',
  hints: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
  checks: [environmentNamed],
  point: ({ containerSeconds, billedZCloudSeconds, rateMultiplier, overageDiskMb }) =>
    `${billedZCloudSeconds} zCloud-seconds billed (${containerSeconds} container-seconds, rate ${rateMultiplier})${overageDiskMb > 0 ? `, ${overageDiskMb} MB of disk above the included amount` : ''}.`,
})
