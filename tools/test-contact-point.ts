import { testContactPoint } from '../src/contract/contact-points.ts'
import { defineTool } from '../src/mcp/define-tool.ts'

export default defineTool({
  operation: testContactPoint,
  group: 'alerts',
  title: 'Test contact point',
  description:
    'Sends a marked test notice to a contact point (admin) and says whether it arrived, or why not.',
  hints: { readOnly: false, destructive: false, idempotent: false },
  unlistedInputs: ['expectedRevision', 'dryRun', 'idempotencyKey'],
  point: ({ delivered, attempts }) =>
    delivered
      ? 'The test notice arrived.'
      : `The test notice did not arrive: ${attempts.at(-1)?.reason ?? 'unknown'}.`,
})
