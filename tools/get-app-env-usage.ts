import { getAppEnvUsage } from '../src/contract/measurements.ts'
import { environmentNamed } from '../src/mcp/checks.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: getAppEnvUsage,
  group: 'metrics',
  title: 'Billed usage',
  description:
    'Tells what an environment is billed for: container and zCloud seconds by hour (functions at 3 times the rate), and disk above what is included.',
  hints: { readOnly: true, destructive: false, idempotent: true },
  checks: [environmentNamed],
  point: ({ containerSeconds, billedZCloudSeconds, rateMultiplier, overageDiskMb }) =>
    `${billedZCloudSeconds} zCloud-seconds billed (${containerSeconds} container-seconds, rate ${rateMultiplier})${overageDiskMb > 0 ? `, ${overageDiskMb} MB of disk above the included` : ''}.`,
})
